"""What was compressed is read as it was, in any pieces, and never more of it than was asked for."""

from __future__ import annotations

import gzip
import zlib

import pytest

from app.edge.http.entry.unpacking import CannotUnpack, Unpacking, encoding_of

TEXT = b'{"ride_id": "a"}' * 1_000
BARE = zlib.compress(TEXT)[2:-4]
WAYS = {"gzip": gzip.compress(TEXT), "zlib": zlib.compress(TEXT), "bare": BARE}


def unpacking_of(way: str) -> Unpacking:
    return Unpacking("gzip" if way == "gzip" else "deflate")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_what_was_compressed_is_read_in_any_pieces(way: str, size: int) -> None:
    packed, unpacking = WAYS[way], unpacking_of(way)
    read = [unpacking.read(packed[at : at + size], 1 << 20) for at in range(0, len(packed), size)]
    unpacking.end()
    assert b"".join(read) == TEXT


def test_files_of_gzip_may_follow_one_another() -> None:
    unpacking = Unpacking("gzip")
    assert unpacking.read(gzip.compress(b"a") + gzip.compress(b"b"), 10) == b"ab"
    unpacking.end()


def test_of_what_is_large_so_much_is_read_as_is_asked_for() -> None:
    assert len(Unpacking("gzip").read(gzip.compress(bytes(50_000_000)), 1_000)) == 1_000


@pytest.mark.parametrize("way", WAYS)
def test_what_ends_early_is_told(way: str) -> None:
    unpacking = unpacking_of(way)
    unpacking.read(WAYS[way][:-1], 1 << 20)
    with pytest.raises(CannotUnpack, match=r"its (gzip|deflate) ends before it is whole"):
        unpacking.end()


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_what_is_not_compressed_as_it_says_is_told(encoding: str) -> None:
    with pytest.raises(CannotUnpack, match=f"it is no {encoding}"):
        Unpacking(encoding).read(b"\xff" * 9, 10)
    with pytest.raises(CannotUnpack):
        Unpacking(encoding).end()


def test_other_encodings_are_not_taken() -> None:
    assert [encoding_of(told) for told in ("", "identity", "GZIP", "x-gzip", "deflate")] == [
        None,
        None,
        "gzip",
        "gzip",
        "deflate",
    ]
    for told in ("br", "zstd", "gzip, br", "gzip, gzip"):
        with pytest.raises(CannotUnpack, match="taken are gzip, deflate"):
            encoding_of(told)

"""Halves of joins and what alerts watch stand in the changelog byte for byte as docs/formats.md says."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.stored.changelog import WATCHED, kind_of
from app.codecs.stored.halves import (
    SIDE_SHIFT,
    Halves,
    decode_halves,
    half_head,
    half_keys,
    half_places,
    headers_as_json,
    headers_from_json,
    settled_values,
    waiting_values,
)
from app.domain.errors import LayoutError
from tests.support.material.pairing.calls import LONG, PAID, WHOLE

RIGHT = 1 << SIDE_SHIFT
INT64 = st.integers(-(2**63), 2**63 - 1)
BYTES = st.none() | st.binary(max_size=9)
HALVES = st.lists(st.tuples(INT64, st.text(max_size=9) | INT64, INT64, BYTES, BYTES), max_size=9)
SOME_HALVES = [(60, "a", 5, b"k", b"value"), (-1, 'say "b"', 0, None, None)]


def as_documented(at_us: int, id: str | int, *waiting: Any) -> bytes:
    """A value by docs/formats.md, one by one."""
    parts = [orjson.dumps(id)]
    if waiting:
        timestamp_ms, key, value = waiting
        parts += [struct.pack(">q", timestamp_ms), b'{"place":1}', key, value, b"[]"]
    written = [struct.pack(">i", -1 if part is None else len(part)) + (part or b"") for part in parts]
    return struct.pack(">BBq", 1, bool(waiting), at_us) + b"".join(written)


def in_columns(halves: Sequence[tuple[Any, ...]]) -> Halves:
    at_us, ids, timestamps_ms, keys, values = ([half[at] for half in halves] for at in range(5))
    return Halves(
        waits=np.ones(len(halves), np.bool_),
        at_us=np.array(at_us, np.int64),
        ids=Blobs.of(map(orjson.dumps, ids)),
        timestamps_ms=np.array(timestamps_ms, np.int64),
        columns=Blobs.of([b'{"place":1}'] * len(halves)),
        keys=Blobs.of(keys),
        values=Blobs.of(values),
        headers=Blobs.of([b"[]"] * len(halves)),
    )


@given(HALVES, st.data())
def test_values_are_as_documented_and_come_back(halves: list[tuple[Any, ...]], data: st.DataObject) -> None:
    columns = in_columns(halves)
    waiting, settled = list(waiting_values(columns)), list(settled_values(columns.at_us, columns.ids))
    assert waiting == [as_documented(*half) for half in halves]
    assert settled == [as_documented(*half[:2]) for half in halves]
    waits = data.draw(st.lists(st.booleans(), min_size=len(halves), max_size=len(halves)))
    read = decode_halves(
        Blobs.of(one if wait else other for one, other, wait in zip(waiting, settled, waits, strict=True))
    )
    assert read.waits.tolist() == waits
    assert read.at_us.tolist() == columns.at_us.tolist()
    assert list(read.ids) == list(columns.ids)
    for name in ("timestamps_ms", "columns", "keys", "values", "headers"):
        held = zip(getattr(read, name), getattr(columns, name), waits, strict=True)
        assert all(now == before for now, before, wait in held if wait), name


def test_keys_name_side_and_offset_and_alerts_have_a_kind_of_their_own() -> None:
    """Versions that know no alerts refuse them by it."""
    places = np.array([258, RIGHT | 258, RIGHT | (2**62 - 1)])
    keys = half_keys(LONG, places)
    assert [key.hex() for key in keys if key] == [
        f"01090001{LONG.version}000000000000000102",
        f"01090001{LONG.version}010000000000000102",
        f"01090001{LONG.version}013fffffffffffffff",
    ]
    assert half_places(keys).tolist() == places.tolist()
    assert kind_of(keys[0] or b"") == WATCHED
    assert (keys[0] or b"").startswith(half_head(LONG))
    assert not (keys[0] or b"").startswith(half_head(WHOLE))
    assert (half_keys(PAID, places)[0] or b"").hex() == f"01040001{PAID.version}000000000000000102"


def test_keys_of_another_length_are_refused_in_words() -> None:
    with pytest.raises(LayoutError, match="key 0104 of a half is not of 17 bytes"):
        half_places(Blobs.of([*half_keys(PAID, np.array([1])), b"\x01\x04"]))


@pytest.mark.parametrize(
    "odd",
    [
        b"",
        b"\x02" + as_documented(*SOME_HALVES[0])[1:],
        as_documented(*SOME_HALVES[0])[:-1],
        as_documented(*SOME_HALVES[0]) + b"\0",
        as_documented(*SOME_HALVES[0][:2])[:9],
        as_documented(*SOME_HALVES[0][:2])[:12],
        b"\x01\x01" + as_documented(*SOME_HALVES[0][:2])[2:],
        b"\x01\x00" + as_documented(*SOME_HALVES[0])[2:],
        as_documented(*SOME_HALVES[0]).replace(struct.pack(">iq", 8, 5), struct.pack(">ii", 4, 5)),
    ],
)
def test_values_that_are_none_are_refused_in_words(odd: bytes) -> None:
    good = [as_documented(*half) for half in SOME_HALVES]
    with pytest.raises(LayoutError, match="this version reads layout 1"):
        decode_halves(Blobs.of([*good, odd]))


def test_headers_come_back() -> None:
    headers = (("a", b"\xff\0"), ("é", b""))
    assert headers_as_json(headers) == b'[["a","ff00"],["\xc3\xa9",""]]'
    assert headers_from_json(headers_as_json(headers)) == headers
    assert headers_from_json(headers_as_json(())) == ()


@pytest.mark.parametrize("kind", [0, 7, 11, 255])
def test_kinds_that_nobody_writes_are_refused(kind: int) -> None:
    key = half_keys(LONG, np.array([258]))[0] or b""
    with pytest.raises(LayoutError, match=f"of kind {kind}"):
        kind_of(bytes([1, kind]) + key[2:])

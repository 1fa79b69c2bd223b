"""The export carries rows, marker and a digest that two sides can compute apart."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from app.codecs.stored.changelog import NULL_INTEGER, encode_rows
from app.codecs.stored.export import (
    ExportMetadata,
    ExportWriter,
    add_digests,
    check_digest,
    digest,
    digest_of_columns,
    read_export,
    stored_rows,
)
from app.codecs.stored.row_keys import encode_keys
from app.domain.errors import LayoutError
from app.domain.fingerprint import mix
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition
from app.domain.measures.kinds import Count, Last
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.material.stored.row_keys import encode_key

MARKER = Marker(
    "flagfall",
    1,
    3,
    7,
    {"rides.yellow": InputPosition("id", 0, 42, 5, 40, 1, 1)},
    {"zone_demand": ViewPosition(1, ZONE_DEMAND.version, fates={"rides.yellow": Fates(40)})},
)
BY_BASE = View(
    9, "by_base", RIDES, (Group("base", "dispatching_base"),), AllTime(),
    (Count("rides"), Last("last_zone", "pickup_zone")), 0, 0, "help",
)  # fmt: skip


def _zone_rows(count: int) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    windows = np.arange(count, dtype=np.int64) * 300_000_000 - 600_000_000
    zones = np.where(np.arange(count) % 3 == 0, NULL_INTEGER, np.arange(count)).astype(np.int64)
    cells = np.arange(count * len(ZONE_DEMAND.cells), dtype=np.int64).reshape(count, len(ZONE_DEMAND.cells)) - 50
    return windows, [zones], cells


def _written(view: View, windows: np.ndarray | None, groups: list[np.ndarray], cells: np.ndarray) -> bytes:
    of_rows = digest(encode_keys(view, windows, groups), encode_rows(cells))
    metadata = ExportMetadata(view.name, view.version, 3, MARKER, 99, len(cells), of_rows)
    writer = ExportWriter(view, metadata)
    half = len(cells) // 2
    pieces = [(slice(0, half)), (slice(half, None))]
    sent = b"".join(
        writer.rows(None if windows is None else windows[at], [g[at] for g in groups], cells[at]) for at in pieces
    )
    return sent + writer.end()


def test_an_export_reads_back_as_the_rows_and_the_marker_it_was_written_from() -> None:
    windows, groups, cells = _zone_rows(7)
    metadata, table = read_export(_written(ZONE_DEMAND, windows, groups, cells))
    assert metadata.marker == MARKER
    assert (metadata.view, metadata.partition, metadata.changelog_offset, metadata.row_count) == (
        "zone_demand",
        3,
        99,
        7,
    )
    assert table["zone"].to_pylist() == [None, 1, 2, None, 4, 5, None]
    assert stored_rows(ZONE_DEMAND, table) == (encode_keys(ZONE_DEMAND, windows, groups), encode_rows(cells))
    check_digest(ZONE_DEMAND, metadata, table)


def test_text_groups_and_all_time_views_are_exported_too() -> None:
    bases = np.array(["B00001", None, "Ω"], object)
    cells = np.arange(3 * len(BY_BASE.cells), dtype=np.int64).reshape(3, -1)
    metadata, table = read_export(_written(BY_BASE, None, [bases], cells))
    assert table["base"].to_pylist() == ["B00001", None, "Ω"]
    assert table["window_start_us"].null_count == 3
    check_digest(BY_BASE, metadata, table)


def test_an_export_without_rows_is_still_an_export() -> None:
    windows, groups, cells = _zone_rows(0)
    metadata, table = read_export(_written(ZONE_DEMAND, windows, groups, cells))
    assert (table.num_rows, metadata.digest) == (0, 0)
    check_digest(ZONE_DEMAND, metadata, table)


def test_the_digest_is_the_sum_of_the_mixed_hashes_of_the_stored_rows() -> None:
    keys, values = [b"a", b"bb"], [b"1", b"2"]
    naive = sum(
        mix(int.from_bytes(hashlib.blake2b(k + v, digest_size=8).digest(), "big"))
        for k, v in zip(keys, values, strict=True)
    )
    assert digest(keys, values) == naive % 2**64
    assert add_digests(digest(keys[:1], values[:1]), digest(keys[1:], values[1:])) == digest(keys, values)
    assert digest(keys[::-1], values[::-1]) == digest(keys, values)


def test_an_export_that_was_cut_short_is_refused() -> None:
    windows, groups, cells = _zone_rows(1000)
    whole = _written(ZONE_DEMAND, windows, groups, cells)
    for length in (0, 100, len(whole) // 3, len(whole) // 2, len(whole) - 2_000):
        with pytest.raises(LayoutError):
            read_export(whole[:length])


def test_an_altered_row_and_another_version_are_refused() -> None:
    windows, groups, cells = _zone_rows(4)
    metadata, table = read_export(_written(ZONE_DEMAND, windows, groups, cells))
    with pytest.raises(LayoutError, match="digest"):
        check_digest(ZONE_DEMAND, replace(metadata, digest=metadata.digest + 1), table)
    with pytest.raises(LayoutError, match="same definitions"):
        check_digest(ZONE_DEMAND, replace(metadata, version="00000000"), table)


def test_the_one_row_of_a_view_without_window_and_groups_proves_itself_too() -> None:
    """It has no column that would tell how many rows there are."""
    view = replace(BY_BASE, groups=())
    cells = np.arange(len(view.cells), dtype=np.int64)[None, :]
    proof = digest_of_columns(view, None, [], cells)
    metadata = ExportMetadata(view.name, view.version, 3, MARKER, 99, 1, proof)
    writer = ExportWriter(view, metadata)
    found, table = read_export(writer.rows(None, [], cells) + writer.end())
    check_digest(view, found, table)
    assert stored_rows(view, table) == ([encode_key(view, RowKey(None, ()))], encode_rows(cells))

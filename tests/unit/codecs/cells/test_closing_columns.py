"""Records of the closing stage by column are those that are made one by one, and go where these go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.blobs import Blobs
from app.codecs.stored import closings as codec
from app.codecs.stored.changelog import CLOSED_ROW, REVISION
from app.codecs.stored.closing_columns import (
    OpenKeys,
    decode_opens,
    of_kind,
    open_keys_of,
    partitions_of,
    read_open_keys,
)
from app.codecs.stored.row_key_columns import encode_key_columns
from app.codecs.text_column import TextColumn
from app.domain.errors import LayoutError
from app.domain.view import Group, View
from app.domain.windows.session import Session
from app.testkit.simulation.parcels import ROUNDS

GROUPED = replace(ROUNDS, groups=(Group("hub", "hub"), Group("carrier", "carrier")))
VIEWS = [GROUPED, replace(ROUNDS, groups=()), replace(GROUPED, window=Session("delivered_at_us", 60))]
ROWS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 50), st.none() | st.text(max_size=5)))


@pytest.mark.parametrize("view", VIEWS, ids=["windows", "without groups", "sessions"])
@given(rows=ROWS, count=st.integers(1, 100))
def test_rows_in_columns_are_closed_as_one_by_one(
    view: View, rows: list[tuple[int, int, str | None]], count: int
) -> None:
    hubs, carriers = np.array([row[1] for row in rows], np.int64), TextColumn.of(row[2] for row in rows)
    windows = np.array([row[0] for row in rows], np.int64)
    keys = encode_key_columns(view, windows, [hubs, carriers][: len(view.groups)], len(rows))
    one_by_one = [key or b"" for key in keys]
    assert partitions_of(view, keys, count).tolist() == [codec.partition_of(view, key, count) for key in one_by_one]
    assert list(of_kind(keys, CLOSED_ROW)) == [codec.as_closed_row_key(key) for key in one_by_one]
    assert list(of_kind(keys, REVISION)) == [codec.as_final_key(key) for key in one_by_one]
    assert list(keys) == one_by_one  # they are copied


@given(told=st.lists(st.tuples(st.binary(max_size=9), st.integers(-(2**63), 2**63 - 1), st.integers(0, 65_535))))
def test_open_rows_in_columns_are_told_and_read_as_one_by_one(told: list[tuple[bytes, int, int]]) -> None:
    groups, starts = Blobs.of(row[0] for row in told), np.array([row[1] for row in told], np.int64)
    tasks = np.array([row[2] for row in told], np.int64)
    keys = open_keys_of(ROUNDS, OpenKeys(groups, starts, tasks))
    assert [codec.read_open_key(key or b"") for key in keys] == told
    read = read_open_keys(Blobs.of([b"before", *keys, b"behind"])[1:-1])
    assert [*zip(read.groups, read.starts_us.tolist(), read.tasks.tolist(), strict=True)] == told
    values = Blobs.of([b"before", *map(codec.encode_open, starts.tolist()), b"behind"])[1:-1]
    assert decode_opens(values).tolist() == starts.tolist()


def test_what_is_no_open_row_is_refused_among_others() -> None:
    key = open_keys_of(ROUNDS, OpenKeys(Blobs.of([b""]), np.zeros(1, np.int64), np.ones(1, np.int64)))[0] or b""
    with pytest.raises(LayoutError, match="ends too soon"):
        read_open_keys(Blobs.of([key, key[:-1]]))
    good = codec.encode_open(5)
    for value in (b"", b"\x01", good[:-1], b"\x02" + good[1:]):
        with pytest.raises(LayoutError, match="not of layout 1"):
            decode_opens(Blobs.of([good, value]))

"""Records of the closing topic byte by byte, and in which of its partitions they stand (docs/formats.md)."""

from __future__ import annotations

import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored import closings as codec
from app.domain.errors import LayoutError
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.session import Session
from app.testkit.simulation.parcels import HUB_LOAD, PARCELS, ROUNDS
from tests.support.material.stored.row_keys import as_open_key, encode_key

BOTH: View = replace(ROUNDS, groups=(Group("hub", "hub"), Group("carrier", "carrier")))
ALONE: View = replace(ROUNDS, groups=())
PINNED = replace(BOTH, number=258, window=Session("delivered_at_us", 60))
PINNED.__dict__["version"] = "0a0b0c0d"
HUBS, CARRIERS = st.one_of(st.none(), st.integers(1, 50)), st.one_of(st.none(), st.text(max_size=5))
STARTS_US = st.integers(*PARCELS.instants_us)
TASKS = st.integers(0, 4095)


def test_an_open_row_is_written_as_it_is_documented() -> None:
    key = as_open_key(encode_key(PINNED, RowKey(3, (None, "é"))), 513)
    written = "010a01020a0b0c0d020000000000000003000000000000000000020002c3a90201"
    assert key.hex() == written
    assert codec.encode_open(-2).hex() == "01feffffffffffffff"


@given(STARTS_US, HUBS, CARRIERS, TASKS)
def test_an_open_row_is_read_as_it_was_written(start_us: int, hub: int | None, carrier: str | None, task: int) -> None:
    for view, group in ((BOTH, (hub, carrier)), (ROUNDS, (carrier,)), (ALONE, ())):
        row_key = encode_key(view, RowKey(start_us, group))
        key = as_open_key(row_key, task)
        assert key.startswith(codec.open_head(view))
        assert codec.read_open_key(key) == (codec.group_in(row_key), start_us, task)
        assert codec.decode_open(codec.encode_open(start_us)) == start_us


def test_what_is_no_open_row_is_refused() -> None:
    key = as_open_key(encode_key(ALONE, RowKey(3, ())), 1)
    with pytest.raises(LayoutError, match="ends too soon"):
        codec.read_open_key(key[:-1])
    for value in (b"", b"\x01", codec.encode_open(5)[:-1], b"\x02" + codec.encode_open(5)[1:]):
        with pytest.raises(LayoutError, match="not of layout 1"):
            codec.decode_open(value)


@given(STARTS_US, STARTS_US, HUBS, CARRIERS, st.integers(1, 100))
def test_sessions_of_a_group_stand_in_one_partition_wherever_they_begin(
    one_us: int, other_us: int, hub: int | None, carrier: str | None, count: int
) -> None:
    keys = [encode_key(BOTH, RowKey(start_us, (hub, carrier))) for start_us in (one_us, other_us)]
    assert len({codec.partition_of(BOTH, key, count) for key in keys}) == 1


def test_rows_that_stand_alone_are_where_they_always_were() -> None:
    keys = [encode_key(HUB_LOAD, RowKey(start_us * 600_000_000, (7,))) for start_us in range(20)]
    assert [codec.partition_of(HUB_LOAD, key, 6) for key in keys] == [zlib.crc32(key) % 6 for key in keys]
    assert len({codec.partition_of(HUB_LOAD, key, 6) for key in keys}) > 1

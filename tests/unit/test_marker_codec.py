"""Markers as JSON: written canonically, and those of layout 1 readable for good."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.marker import decode_marker, encode_marker
from app.domain.errors import LayoutError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition

STORED = (
    b'{"layout":1,"marker":{"application":"flagfall","source":1,"partition":3,"sequence":7,'
    b'"inputs":{"rides.green":{"topic_id":"g","start_offset":0,"next_offset":0,'
    b'"watermark_us":-9223372036854775808,"decoded":0,"quarantined":0,"not_records":0},'
    b'"rides.yellow":{"topic_id":"mFxyz","start_offset":10,"next_offset":20,'
    b'"watermark_us":1767589200000000,"decoded":5,"quarantined":2,"not_records":3}},'
    b'"views":{"zone_demand":{"number":1,"version":"0a0b0c0d","state":"live","start":{"rides.yellow":10},'
    b'"expired_below_us":null,"fates":{"rides.yellow":{"applied":3,"late":1,"out_of_scope":1}}}},'
    b'"rules":[{"from_offset":0,"skew_seconds":600}]}}'
)
MARKER = Marker(
    application="flagfall",
    source=1,
    partition=3,
    sequence=7,
    inputs={
        "rides.yellow": InputPosition("mFxyz", 10, 20, 1_767_589_200_000_000, 5, 2, 3),
        "rides.green": InputPosition("g", 0, 0, NO_WATERMARK),
    },
    views={
        "zone_demand": ViewPosition(1, "0a0b0c0d", "live", {"rides.yellow": 10}, None, {"rides.yellow": Fates(3, 1, 1)})
    },
    rules=({"from_offset": 0, "skew_seconds": 600},),
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text(max_size=8)
POSITIONS = st.builds(InputPosition, NAMES, *[NUMBERS] * 6)
FATES = st.builds(Fates, *[NUMBERS] * 3)
VIEWS = st.builds(
    ViewPosition,
    st.integers(1, 65_535),
    NAMES,
    st.sampled_from(("live", "building")),
    st.dictionaries(NAMES, NUMBERS, max_size=3),
    st.one_of(st.none(), NUMBERS),
    st.dictionaries(NAMES, FATES, max_size=3),
)
MARKERS = st.builds(
    Marker,
    NAMES,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.dictionaries(NAMES, POSITIONS, max_size=3),
    st.dictionaries(NAMES, VIEWS, max_size=3),
    st.lists(st.dictionaries(NAMES, NUMBERS, max_size=2), max_size=2).map(tuple),
)


@given(MARKERS)
def test_a_marker_is_read_as_it_was_written(marker: Marker) -> None:
    assert decode_marker(encode_marker(marker)) == marker


def test_a_stored_marker_of_layout_1_stays_readable() -> None:
    assert decode_marker(STORED) == MARKER


def test_equal_markers_give_equal_bytes_whatever_the_order_of_their_topics() -> None:
    """Two copies of a marker are compared as bytes."""
    assert encode_marker(MARKER) == STORED
    assert list(MARKER.inputs) != sorted(MARKER.inputs)


@pytest.mark.parametrize("layout", [0, 2, None, "1"])
def test_a_marker_of_another_layout_is_refused_in_words(layout: object) -> None:
    told = orjson.dumps({**orjson.loads(STORED), "layout": layout})
    with pytest.raises(LayoutError, match=f"marker of layout {layout}, this version reads 1"):
        decode_marker(told)


def test_a_position_adds_up_when_every_offset_is_told_of_once() -> None:
    """start 10 |5 decoded|2 quarantined|3 not records| next 20"""
    good = MARKER.inputs["rides.yellow"]
    assert good.adds_up
    assert not InputPosition("id", 10, 20, decoded=5, quarantined=2, not_records=2).adds_up


def test_a_moved_marker_counts_one_transaction_and_leaves_the_other_topics_where_they_were() -> None:
    position = InputPosition("g", 0, 4, 9, 4)
    moved = MARKER.moved("rides.green", position, {})
    assert moved.sequence == 8
    assert moved.next_offsets == {"rides.yellow": 20, "rides.green": 4}
    assert moved.inputs["rides.yellow"] is MARKER.inputs["rides.yellow"]
    assert MARKER.next_offsets == {"rides.yellow": 20, "rides.green": 0}

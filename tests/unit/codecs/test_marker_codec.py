"""Markers as JSON: written canonically, and those of former layouts readable for good."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored.marker import decode_marker, encode_marker
from app.domain.cleanliness.rule import Refusing
from app.domain.errors import LayoutError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import (
    AlertPosition,
    BranchPosition,
    BuildPosition,
    Fates,
    InputPosition,
    JoinPosition,
    Marker,
    OffsetRange,
    ViewPosition,
)
from app.domain.rules.epochs import GraceEpoch, SkewEpoch

STORED_1 = (
    b'{"layout":1,"marker":{"application":"flagfall","source":1,"partition":3,"sequence":7,'
    b'"inputs":{"rides.green":{"topic_id":"g","start_offset":0,"next_offset":0,'
    b'"watermark_us":-9223372036854775808,"decoded":0,"quarantined":0,"not_records":0},'
    b'"rides.yellow":{"topic_id":"mFxyz","start_offset":10,"next_offset":20,'
    b'"watermark_us":1767589200000000,"decoded":5,"quarantined":2,"not_records":3}},'
    b'"views":{"zone_demand":{"number":1,"version":"0a0b0c0d","state":"live","start":{"rides.yellow":10},'
    b'"expired_below_us":null,"fates":{"rides.yellow":{"applied":3,"late":1,"out_of_scope":1}}}},'
    b'"rules":[{"from_offset":0,"skew_seconds":600}]}}'
)
STORED_2 = (
    b'{"layout":2,"marker":{"application":"flagfall","source":1,"partition":3,"sequence":7,'
    b'"inputs":{"rides.green":{"topic_id":"g","start_offset":0,"next_offset":0,'
    b'"watermark_us":-9223372036854775808,"decoded":0,"quarantined":0,"not_records":0},'
    b'"rides.yellow":{"topic_id":"mFxyz","start_offset":10,"next_offset":20,'
    b'"watermark_us":1767589200000000,"decoded":5,"quarantined":2,"not_records":3}},'
    b'"views":{"zone_demand":{"number":1,"version":"0a0b0c0d","state":"live","start":{"rides.yellow":10},'
    b'"fates":{"rides.yellow":{"applied":3,"late":1,"out_of_scope":1,"duplicate":0}},"closed_to_us":null,'
    b'"expired_to_us":null,"built":{}}},"rules":[{"from_offset":0,"skew_seconds":600}],"joins":{}}}'
)
STORED_3 = (
    b'{"layout":3,"marker":{"application":"flagfall","source":1,"partition":3,"sequence":7,'
    b'"inputs":{"rides.green":{"topic_id":"g","start_offset":0,"next_offset":0,'
    b'"watermark_us":-9223372036854775808,"decoded":0,"quarantined":0,"not_records":0,'
    b'"skews":[{"from_offset":0,"skew_seconds":600}]},'
    b'"rides.yellow":{"topic_id":"mFxyz","start_offset":10,"next_offset":20,'
    b'"watermark_us":1767589200000000,"decoded":5,"quarantined":2,"not_records":3,'
    b'"skews":[{"from_offset":0,"skew_seconds":600}]}},'
    b'"views":{"zone_demand":{"number":1,"version":"0a0b0c0d","state":"live","start":{"rides.yellow":10},'
    b'"fates":{"rides.yellow":{"applied":3,"late":1,"out_of_scope":1,"duplicate":0}},"closed_to_us":null,'
    b'"expired_to_us":null,"built":{},"graces":{}}},"joins":{}}}'
)
STORED_4 = STORED_3.replace(b'"layout":3', b'"layout":4').replace(b'"graces":{}', b'"graces":{},"corrected_from":0')
STORED_5 = (
    STORED_4.replace(b'"layout":4', b'"layout":5')
    .replace(b'"skew_seconds":600', b'"skew_seconds":600,"refuses":[]')
    .replace(b'"refuses":[]}]}', b'"refuses":[]}],"lost":[]}')
    .replace(b'"corrected_from":0', b'"corrected_from":0,"corrections_again":null')
)
STORED_6 = STORED_5.replace(b'"layout":5', b'"layout":6')
STORED_7 = STORED_6.replace(b'"layout":6', b'"layout":7')
STORED_8 = STORED_7.replace(b'"layout":7', b'"layout":8')
STORED_8_WITH_NAMES = STORED_8.replace(b'"corrections_again":null', b'"corrections_again":null,"former_names":[]')
FORMER = [STORED_1, STORED_2, STORED_3, STORED_4, STORED_5, STORED_6, STORED_7, STORED_8, STORED_8_WITH_NAMES]
STORED = STORED_8.replace(b'"layout":8', b'"layout":9').replace(
    b'"corrections_again":null', b'"corrections_again":null,"former_to_us":null'
)
MARKER = Marker(
    application="flagfall",
    source=1,
    partition=3,
    sequence=7,
    inputs={
        "rides.yellow": InputPosition("mFxyz", 10, 20, 1_767_589_200_000_000, 5, 2, 3, (SkewEpoch(0, 600),)),
        "rides.green": InputPosition("g", 0, 0, NO_WATERMARK, skews=(SkewEpoch(0, 600),)),
    },
    views={"zone_demand": ViewPosition(1, "0a0b0c0d", "live", {"rides.yellow": 10}, {"rides.yellow": Fates(3, 1, 1)})},
)

NUMBERS = st.integers(-(2**63), 2**63 - 1)
NAMES = st.text(max_size=8)
SKEWS = st.lists(
    st.builds(SkewEpoch, NUMBERS, NUMBERS, st.lists(st.builds(Refusing, NAMES, NAMES), max_size=2).map(tuple)),
    max_size=2,
).map(tuple)
GRACES = st.lists(st.builds(GraceEpoch, NUMBERS, NUMBERS, NUMBERS), max_size=2).map(tuple)
LOST = st.lists(st.builds(OffsetRange, NUMBERS, NUMBERS), max_size=2).map(tuple)
POSITIONS = st.builds(InputPosition, NAMES, *[NUMBERS] * 6, SKEWS, LOST)
FATES = st.builds(Fates, *[NUMBERS] * 4)
VIEWS = st.builds(
    ViewPosition,
    st.integers(1, 65_535),
    NAMES,
    st.sampled_from(("live", "building", "clearing")),
    st.dictionaries(NAMES, NUMBERS, max_size=3),
    st.dictionaries(NAMES, FATES, max_size=3),
    st.one_of(st.none(), NUMBERS),
    st.one_of(st.none(), NUMBERS),
    st.dictionaries(NAMES, st.builds(BuildPosition, NUMBERS, NUMBERS), max_size=3),
    st.dictionaries(NAMES, GRACES, max_size=2),
    NUMBERS,
    st.none() | st.builds(OffsetRange, NUMBERS, NUMBERS),
)
JOINS = st.builds(
    JoinPosition,
    st.integers(1, 65_535),
    NAMES,
    st.dictionaries(NAMES, FATES, max_size=3),
    NUMBERS,
    NUMBERS,
    st.dictionaries(NAMES, NUMBERS, max_size=2),
    st.dictionaries(NAMES, NUMBERS, max_size=2),
)
ALERTS = st.builds(
    AlertPosition,
    st.integers(1, 65_535),
    NAMES,
    st.dictionaries(NAMES, FATES, max_size=3),
    NUMBERS,
    st.dictionaries(NAMES, NUMBERS, max_size=2),
    st.dictionaries(NAMES, NUMBERS, max_size=2),
)
BRANCHES = st.builds(
    BranchPosition,
    NAMES,
    st.dictionaries(NAMES, NUMBERS, max_size=2),
    NUMBERS,
    NUMBERS,
    st.dictionaries(NAMES, NUMBERS, max_size=2),
)
MARKERS = st.builds(
    Marker,
    NAMES,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.dictionaries(NAMES, POSITIONS, max_size=3),
    st.dictionaries(NAMES, VIEWS, max_size=3),
    st.dictionaries(NAMES, JOINS, max_size=2),
    st.dictionaries(NAMES, ALERTS, max_size=2),
    st.dictionaries(NAMES, BRANCHES, max_size=2),
    st.dictionaries(NAMES, NUMBERS, max_size=2),
    st.dictionaries(NAMES, NAMES, max_size=2),
    NAMES,
    NUMBERS,
    NUMBERS,
)


@given(MARKERS)
def test_a_marker_is_read_as_it_was_written(marker: Marker) -> None:
    assert decode_marker(encode_marker(marker)) == marker


@pytest.mark.parametrize(
    "stored", [STORED_1, STORED_2, STORED_3, STORED_4, STORED_5, STORED_6, STORED_7], ids="1234567"
)
def test_a_stored_marker_of_a_former_layout_stays_readable(stored: bytes) -> None:
    """The first two told one skew for all inputs."""
    assert decode_marker(stored) == MARKER


def test_equal_markers_give_equal_bytes_whatever_the_order_of_their_topics() -> None:
    """Two copies of a marker are compared as bytes."""
    assert encode_marker(MARKER) == STORED
    assert list(MARKER.inputs) != sorted(MARKER.inputs)


@pytest.mark.parametrize("layout", [0, 10, None, "1"])
def test_a_marker_of_another_layout_is_refused_in_words(layout: object) -> None:
    told = orjson.dumps({**orjson.loads(STORED), "layout": layout})
    with pytest.raises(LayoutError, match=f"marker of layout {layout}, this version reads 1, 2, 3, 4, 5, 6, 7, 8, 9"):
        decode_marker(told)


def test_a_position_adds_up_when_every_offset_is_told_of_once() -> None:
    """start 10 |5 decoded|2 quarantined|3 not records| next 20"""
    good = MARKER.inputs["rides.yellow"]
    assert good.adds_up
    assert not InputPosition("id", 10, 20, decoded=5, quarantined=2, not_records=2).adds_up


def test_a_loss_that_was_accepted_is_a_part_of_the_ledger() -> None:
    """start 10 |5 decoded|2 quarantined|3 not records|20: 7 lost|27: 1 decoded| next 28"""
    gap = OffsetRange(20, 27)
    assert InputPosition("id", 10, 28, decoded=6, quarantined=2, not_records=3, lost=(gap,)).adds_up
    assert not InputPosition("id", 10, 28, decoded=6, quarantined=2, not_records=3).adds_up


def test_the_lowest_watermark_of_topics_is_none_while_one_of_them_has_none() -> None:
    assert MARKER.lowest_watermark_us(["rides.yellow"]) == 1_767_589_200_000_000
    assert MARKER.lowest_watermark_us(["rides.yellow", "rides.green"]) == NO_WATERMARK

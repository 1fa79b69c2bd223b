"""Branches: every usable record goes on once, to one of two topics, as it came."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.batches.origin_headers import OFFSET, PARTITION, TIMESTAMP_MS, TOPIC
from app.domain.branch import Branch
from app.domain.errors import DefinitionError
from app.domain.marker import BranchPosition, InputPosition
from app.domain.oracle.branch_fold import topic_of
from app.domain.source import with_derived
from app.engine.core.completing import completed, empty_marker
from app.engine.core.definition import TaskDefinition
from app.testkit.harness import Harness
from app.testkit.simulation.parcels import HUB_LOAD, PARCELS
from app.testkit.simulation.samples import START_US
from app.testkit.simulation.sent_on import WEIGHED
from tests.support.material.pairing.roads import AIR, HEAVY, LIGHT, ROAD, parcel


@pytest.mark.parametrize(
    ("weight_grams", "transit_us", "topic"),
    [
        (500, None, HEAVY),
        (499, None, LIGHT),
        (499, 900, LIGHT),
        (None, 500, HEAVY),
        (None, 499, LIGHT),
        (None, None, LIGHT),
    ],
)
def test_the_first_amount_that_is_known_decides_and_the_threshold_is_high(
    weight_grams: int | None, transit_us: int | None, topic: str
) -> None:
    kit = Harness(branches=[WEIGHED])
    kit.send(AIR, parcel(weight_grams, transit_us))
    assert [len(kit.records(name)) for name in WEIGHED.outputs] == [topic == HEAVY, topic == LIGHT]


def test_a_record_is_sent_on_as_it_came_with_where_it_stood() -> None:
    kit = Harness(branches=[WEIGHED], partitions=2)
    kit.send(ROAD, parcel(1), partition=1)
    offset = kit.send(
        ROAD, parcel(700), key=b"17", partition=1, timestamp_ms=START_US // 1000 + 5, headers=(("a", b"b"),)
    )
    (sent,) = kit.records(HEAVY)
    stood = ((TOPIC, ROAD), (PARTITION, "1"), (OFFSET, str(offset)), (TIMESTAMP_MS, str(START_US // 1000 + 5)))
    assert (sent.key, sent.timestamp_ms) == (b"17", START_US // 1000 + 5)
    assert sent.headers == (("a", b"b"), *((name, value.encode()) for name, value in stood))
    again = Harness(branches=[WEIGHED])
    again.send_bytes(ROAD, sent.value, timestamp_ms=sent.timestamp_ms)
    assert [record.value for record in again.records(HEAVY)] == [sent.value]


def test_an_unusable_record_goes_to_no_branch_and_a_late_one_to_its_own() -> None:
    kit = Harness(views=[HUB_LOAD], branches=[WEIGHED])
    kit.advance_watermark(AIR, START_US + 10**12)
    kit.send_bytes(AIR, b"\x00\x00", timestamp_ms=START_US // 1000)
    kit.send(AIR, parcel(30_000))
    assert len(kit.quarantined) == len(kit.late) == 1
    assert [len(kit.records(name)) for name in WEIGHED.outputs] == [1, 0]


WEIGHTS = st.lists(st.one_of(st.none(), st.integers(-1000, 30_000), st.sampled_from((499, 500, 501))), max_size=30)


@given(WEIGHTS, st.lists(st.booleans(), max_size=30), st.data())
def test_however_records_are_cut_into_batches_and_workers_killed_each_goes_on_once_in_order(
    weights: list[int | None], kills: list[bool], data: st.DataObject
) -> None:
    kit, left, kills = Harness(branches=[WEIGHED]), list(weights), list(kills)
    while left:
        count = data.draw(st.integers(1, len(left)))
        kit.send_all(AIR, [parcel(weight) for weight in left[:count]])  # type: ignore[misc]
        left = left[count:]
        if kills and kills.pop():
            kit.restart(compact=True)
    full = [with_derived(PARCELS, {**dict.fromkeys(c.name for c in PARCELS.columns), **parcel(w)}) for w in weights]
    for topic in WEIGHED.outputs:
        expected = [str(offset).encode() for offset, values in enumerate(full) if topic_of(WEIGHED, values) == topic]
        assert [dict(sent.headers)[OFFSET] for sent in kit.records(topic)] == expected


def test_a_branch_that_was_off_starts_anew_behind_what_it_missed() -> None:
    """Off is another setting or an older release; one that read nothing meanwhile leaves no gap."""
    on, off = (TaskDefinition("a", (PARCELS,), (HUB_LOAD,), branches=b) for b in ((WEIGHED,), ()))
    begun = empty_marker(on, 0, {topic: InputPosition("id", 0, 0) for topic in on.topics})
    assert begun.branches[WEIGHED.name] == BranchPosition(WEIGHED.version, {AIR: 0, ROAD: 0})
    counted = replace(begun, branches={WEIGHED.name: replace(begun.branches[WEIGHED.name], high=3, low=4)})
    left = completed(off, counted, counted.inputs)
    assert completed(on, left, left.inputs).branches == counted.branches
    moved = replace(left, inputs=left.inputs | {ROAD: InputPosition("id", 0, 9)})
    again = completed(on, completed(off, moved, moved.inputs), moved.inputs)
    assert again.branches[WEIGHED.name] == BranchPosition(WEIGHED.version, {AIR: 0, ROAD: 9})
    other = completed(replace(on, branches=(replace(WEIGHED, threshold=501),)), again, again.inputs)
    assert other.branches[WEIGHED.name].version != WEIGHED.version


def test_every_mistake_of_a_definition_is_named_at_once() -> None:
    with pytest.raises(DefinitionError) as caught:
        Branch("odd", PARCELS, ("colour", "carrier"), 1, AIR, AIR, "")
    assert len(caught.value.problems) == 4
    with pytest.raises(DefinitionError, match="there is no column"):
        Branch("odd", PARCELS, (), 1, "high", "low", "")


def test_two_branches_may_not_share_a_topic_nor_write_what_is_read() -> None:
    other = Branch("other", PARCELS, ("weight_grams",), 1, HEAVY, "test.parcels.corrections", "")
    with pytest.raises(DefinitionError) as caught:
        Harness(branches=[WEIGHED, other])
    assert "'parcels.heavy' is written by two branches" in str(caught.value)
    assert "'test.parcels.corrections', which these tasks read" in str(caught.value)


def test_a_skew_that_changes_leaves_a_branch_and_its_counts_alone() -> None:
    kit = Harness(views=[HUB_LOAD], branches=[WEIGHED])
    kit.send(AIR, parcel(700))
    lenient = replace(PARCELS, skew_seconds=10**6)
    kit.restart(views=[replace(HUB_LOAD, source=lenient)])
    kit.send(AIR, parcel(700), timestamp_ms=START_US // 1000 - 10**6)
    position = kit.marker().branches[WEIGHED.name]
    assert (position.start, position.high) == ({AIR: 0, ROAD: 0}, 2)
    assert not kit.quarantined

"""A corrected window publishes its final again: one revision more, once, with the rows of all tasks as they are now."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base import names
from app.codecs.stored.corrections import correction_bytes, read_outcome
from app.domain.contribution import contribution
from app.domain.corrections.refeed import Fed, ViewStanding, plan_refeed
from app.domain.corrections.revision import revise
from app.domain.errors import DefinitionError
from app.domain.measures.kinds import Count, First, Max, Min, Sum
from app.domain.records import Place, Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.testkit.encoding import filled
from app.testkit.harness import Harness
from app.testkit.simulation.parcels import HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import START_US

AIR, ROAD = "parcels.air", "parcels.road"
DAY_SECONDS = 86_400
END_US = START_US + 600 * MINUTE_US
EXTREMES = (Max("heaviest", "weight_grams"), Min("lightest", "weight_grams"), First("first", "weight_grams"))
REVISED = replace(
    HUB_LOAD,
    measures=(Count("parcels"), Sum("grams", "weight_grams"), *EXTREMES),
    retention_seconds=30 * DAY_SECONDS,
    revisable_seconds=DAY_SECONDS,
)
PARTITIONS = 2


def parcel(minute: int, weight: int = 1) -> dict[str, object]:
    at_us = START_US + minute * MINUTE_US
    return {"parcel_id": f"p{minute}", "scanned_at_us": at_us, "hub": minute % 2 + 1, "weight_grams": weight}


def advance(kit: Harness, to_us: int, partitions: Sequence[int] = range(PARTITIONS)) -> None:
    for partition in partitions:
        for topic in (AIR, ROAD):
            kit.advance_watermark(topic, to_us, partition=partition)


def fed(sent: Sequence[tuple[int, int]], view: View = REVISED) -> Harness:
    """A harness that has folded parcels of these minutes and weights, in turn in each task; nothing is closed yet."""
    kit = Harness(finals=[view], partitions=PARTITIONS)
    for at, (minute, weight) in enumerate(sent):
        kit.send(AIR, parcel(minute, weight), partition=at % PARTITIONS)
    return kit


def feed_again(kit: Harness, one: Any, view: View = REVISED) -> str | None:
    """Add a late record; what became of the correction."""
    outcomes = filter(None, (read_outcome(record.value) for record in kit.records(names.corrected_topic("test"))))
    added = {p for told in outcomes if told.why is None for p in told.correction.adds}
    standing = ViewStanding(kit.marker(one.partition), kit.cells(view, partition=one.partition), frozenset(added))
    record = Record(one.topic, one.partition, one.offset, 0, one.values)
    (correction,) = plan_refeed(view, standing, [Fed(record, True)], "run").corrections
    return kit.correct(json.loads(correction_bytes(correction)), partition=one.partition)["why"]


def finals(kit: Harness, view: View = REVISED) -> dict[RowKey, list[dict[str, Any]]]:
    """Finals of each key, as they were published."""
    found: dict[RowKey, list[dict[str, Any]]] = {}
    for final in kit.finals(view):
        key = RowKey(final["window_start_us"], tuple(final[group.name] for group in view.groups))
        found.setdefault(key, []).append(final)
    return found


def assert_finals_are_the_rows(kit: Harness, view: View = REVISED) -> None:
    rows, published = kit.cells(view), finals(kit, view)
    assert {key: tuple(of_key[-1]["cells"]) for key, of_key in published.items()} == rows
    for of_key in published.values():
        assert [final["revision"] for final in of_key] == list(range(len(of_key)))


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), min_size=6, max_size=16), st.integers(0, 3))
def test_the_last_revision_is_all_tasks_rows_merged_through_any_restart(
    sent: list[tuple[int, int]], restart_every: int
) -> None:
    kit = fed(sent)
    advance(kit, END_US)
    assert_finals_are_the_rows(kit)
    for number, one in enumerate(kit.late):
        assert feed_again(kit, one) is None
        if restart_every and number % restart_every == 0:
            kit.restart(compact=number % 2 == 0)
        assert_finals_are_the_rows(kit)
    published = sum(map(len, finals(kit).values()))
    kit.restart(compact=True)
    assert sum(map(len, finals(kit).values())) == published


def test_what_is_corrected_before_the_other_tasks_have_closed_is_in_the_first_final() -> None:
    kit = fed([(0, 5), (0, 7), (100, 1), (0, 1), (1, 9)])
    advance(kit, END_US, [0])
    assert finals(kit) == {}
    (late,) = kit.late
    assert feed_again(kit, late) is None
    advance(kit, END_US, [1])
    assert_finals_are_the_rows(kit)
    assert {final["revision"] for final in kit.finals(REVISED)} == {0}


def test_a_group_that_nobody_had_a_row_of_gets_its_first_final_from_a_correction() -> None:
    kit = fed([(100, 1), (100, 1), (1, 9)])
    advance(kit, END_US)
    late_key = RowKey(START_US, (2,))
    assert late_key not in finals(kit)
    (late,) = kit.late
    assert feed_again(kit, late) is None
    assert [final["revision"] for final in finals(kit)[late_key]] == [0]
    assert_finals_are_the_rows(kit)


def test_such_a_final_does_not_wait_for_others_that_do() -> None:
    waiting = [one for minute in (250, 251, 290, 291, 330, 331) for one in ((minute, 1), (100, 1))]
    kit = fed([(100, 1), (100, 1), *waiting, (1, 9)])
    advance(kit, END_US, [0])
    advance(kit, START_US + 240 * MINUTE_US, [1])
    assert RowKey(START_US, (2,)) not in finals(kit)
    (late,) = (one for one in kit.late if one.partition == 0)
    assert feed_again(kit, late) is None
    assert [final["revision"] for final in finals(kit)[RowKey(START_US, (2,))]] == [0]


def test_a_window_that_has_just_been_closed_is_revised() -> None:
    kit = fed([(0, 1), (0, 1), (29, 1), (29, 1)])
    advance(kit, REVISED.window.end(START_US) + REVISED.grace_us)
    kit.send(AIR, parcel(0, 9))
    (late,) = kit.late
    assert feed_again(kit, late) is None
    assert [final["revision"] for final in finals(kit)[RowKey(START_US, (1,))]] == [0, 1]


def test_a_record_is_added_once_and_its_final_revised_once_however_often_it_is_asked_for() -> None:
    kit = fed([(0, 1), (0, 1), (100, 1), (100, 1), (0, 9)])
    advance(kit, END_US)
    (late,) = kit.late
    rows = kit.cells(REVISED, partition=0)
    standing = ViewStanding(kit.marker(), rows, frozenset[Place]())
    record = Record(late.topic, late.partition, late.offset, 0, late.values)
    (correction,) = plan_refeed(REVISED, standing, [Fed(record, True)], "run").corrections
    document = json.loads(correction_bytes(correction))
    assert [kit.correct(document)["why"] for _ in range(3)] == [None, "moved_on", "moved_on"]
    assert [final["revision"] for final in finals(kit)[correction.key]] == [0, 1]
    assert_finals_are_the_rows(kit)


def test_finals_are_forgotten_when_their_time_is_over_and_rows_may_still_be_corrected() -> None:
    kit = fed([(0, 1), (0, 1), (100, 1), (100, 1), (0, 9)])
    advance(kit, END_US + 2 * DAY_SECONDS * 1_000_000)
    before = len(kit.finals(REVISED))
    (late,) = kit.late
    assert feed_again(kit, late) is None
    assert len(kit.finals(REVISED)) == before
    kit.restart(compact=True)
    assert len(kit.finals(REVISED)) == before


def test_a_view_that_keeps_no_finals_is_corrected_without_a_revision() -> None:
    view = replace(REVISED, revisable_seconds=0)
    kit = fed([(0, 1), (0, 1), (100, 1), (100, 1), (0, 9)], view)
    advance(kit, END_US)
    (late,) = kit.late
    assert feed_again(kit, late, view) is None
    assert {final["revision"] for final in kit.finals(view)} == {0}


def test_what_a_row_gives_up_is_revised_where_it_is_alone_and_quarantined_where_another_task_may_have_it() -> None:
    for others, revised in (((50, 1), True), ((0, 9), False)):
        kit = fed([(0, 9), others])
        advance(kit, END_US)
        key, was = RowKey(START_US, (1,)), kit.cells(REVISED, partition=0)
        lighter = row_of(7)
        document = {
            "run": "repair",
            "view": REVISED.name,
            "version": REVISED.version,
            **key._asdict(),
            "expected": was[key],
            "row": (was[key][0], was[key][1], *lighter[2:]),
        }
        assert kit.correct(document)["why"] is None
        assert [one.reason for one in kit.quarantined] == ([] if revised else ["not_revisable"])
        assert [final["heaviest"] for final in finals(kit)[key]] == ([9, 7] if revised else [9])


@pytest.mark.parametrize("is_right", [True, False])
def test_a_final_that_is_right_already_is_not_published_again_by_a_repair(is_right: bool) -> None:
    kit = fed([(0, 5), (0, 7)])
    advance(kit, END_US)
    key, was = RowKey(START_US, (1,)), kit.cells(REVISED, partition=0)
    document = {
        "run": "repair",
        "view": REVISED.name,
        "version": REVISED.version,
        **key._asdict(),
        "expected": was[key],
        "row": (was[key][0] + 1, *was[key][1:]),
        **({"right_finals": [START_US]} if is_right else {}),
    }
    assert kit.correct(document)["why"] is None
    assert kit.cells(REVISED, partition=0)[key][0] == was[key][0] + 1
    assert [final["parcels"] for final in finals(kit)[key]] == ([2] if is_right else [2, 3])


def row_of(weight: int) -> Cells:
    return contribution(REVISED, Record(AIR, 0, 0, 0, filled(PARCELS, parcel(0, weight))))


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 9)), max_size=6), st.lists(st.integers(1, 9), max_size=4))
def test_revising_by_records_that_are_added_is_merging_them(held: list[tuple[int, int]], added: list[int]) -> None:
    by_task: list[Cells] = [REVISED.neutral, REVISED.neutral]
    for task, weight in held:
        by_task[task] = REVISED.merge(by_task[task], row_of(weight))
    new = by_task[0]
    for weight in added:
        new = REVISED.merge(new, row_of(weight))
    old = by_task[0] if any(task == 0 for task, _ in held) else None
    assert revise(REVISED, REVISED.merge(*by_task), old, new) == REVISED.merge(new, by_task[1])


def test_a_final_cannot_be_revised_longer_than_rows_are_kept() -> None:
    with pytest.raises(DefinitionError, match="revisable_seconds"):
        replace(HUB_LOAD, retention_seconds=10, revisable_seconds=11)


def test_how_long_finals_are_revised_is_part_of_the_version() -> None:
    versions = {replace(REVISED, revisable_seconds=seconds).version for seconds in (0, DAY_SECONDS, DAY_SECONDS + 1)}
    assert len(versions) == 3

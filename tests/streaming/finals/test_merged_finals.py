"""Finals of rows that merge: one for each session of all tasks, once, when no task can change it any more.

A gap of ten minutes, times in minutes: a session of records 0 and 9 ends at 19.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.domain.view import Group, View
from app.testkit.simulation.parcels import MINUTE_US
from app.testkit.simulation.samples import START_US
from tests.support.material.merging_tasks import SESSIONS, VISITS, Tasks, in_minutes
from tests.support.material.parcel import AIR, ROAD
from tests.support.material.visits import known

BOTH_KINDS = pytest.mark.parametrize("view", [SESSIONS, VISITS], ids=["sessions", "visits"])


@pytest.fixture(autouse=True)
def visits_are_known() -> Iterator[None]:
    with known():
        yield


@BOTH_KINDS
def test_a_session_is_published_once_when_every_task_has_passed_it(view: View) -> None:
    tasks = Tasks(view)
    tasks.sees(0, 0, 9)
    tasks.sees(1, 5)
    tasks.closes(0, 20)
    assert tasks.published == []
    tasks.closes(1, 20)
    assert tasks.published == [(0, 19, 3)]
    for task in (0, 1):
        tasks.closes(task, 500)
    assert tasks.published == [(0, 19, 3)]
    (final,) = tasks.finals(view)
    assert final["cells"][view.last_at] == START_US + 9 * MINUTE_US
    assert {task: at[AIR] for task, at in final["positions"].items()} == {"0": 2, "1": 1}


@BOTH_KINDS
def test_a_task_s_session_that_bridges_two_of_another_makes_them_one(view: View) -> None:
    tasks = Tasks(view)
    tasks.sees(0, 0, 25)
    tasks.sees(1, 8, 17)
    tasks.closes(0, 100)
    tasks.closes(1, 100)
    assert tasks.published == [(0, 35, 4)]


@BOTH_KINDS
def test_a_session_that_is_open_in_another_task_holds_back_what_it_touches(view: View) -> None:
    """All tasks have passed 0 to 10, but the other's session of 9 goes on to 60."""
    tasks = Tasks(view)
    tasks.sees(0, 0)
    tasks.sees(1, 9, 18, 27, 36, 45, 54)
    tasks.closes(0, 100)
    tasks.closes(1, 40)
    assert tasks.published == []
    tasks.sees(1, 60)
    tasks.closes(1, 60)
    assert tasks.published == []
    tasks.closes(1, 70)
    assert tasks.published == [(0, 70, 8)]


@pytest.mark.parametrize(("start", "published"), [(10, [(0, 30, 3)]), (11, [(0, 10, 1), (11, 30, 2)])])
def test_what_is_just_a_gap_away_is_touched_and_what_is_farther_is_not(
    start: int, published: list[tuple[int, int, int]]
) -> None:
    tasks = Tasks()
    tasks.sees(0, 0)
    tasks.sees(1, start, 20)
    tasks.closes(0, 100)
    tasks.closes(1, 20)
    assert tasks.published == published[:-1]
    tasks.closes(1, 30)
    assert tasks.published == published


def test_an_open_session_of_one_group_holds_back_no_other() -> None:
    tasks = Tasks()
    tasks.sees(1, 9, carrier="dhl")
    for carrier in ("dhl", "", None, "é"):
        tasks.sees(0, 0, carrier=carrier)
    tasks.sees(1, 18, carrier="dhl")
    tasks.closes(0, 100)
    tasks.closes(1, 20)
    assert {final["carrier"] for final in tasks.finals(SESSIONS)} == {"", None, "é"}
    tasks.closes(1, 100)
    assert [in_minutes(final) for final in tasks.finals(SESSIONS) if final["carrier"] == "dhl"] == [(0, 28, 3)]


@pytest.mark.parametrize(
    "groups", [(), (Group("hub", "hub"),), (Group("hub", "hub"), Group("carrier", "carrier"))], ids=len
)
def test_groups_may_be_none_numbers_or_several_with_nulls_among_them(groups: tuple[Group, ...]) -> None:
    view = replace(SESSIONS, grace_seconds=3600, groups=groups)
    tasks = Tasks(view, partitions=3)
    places = [(1, "dhl"), (None, None), (2, "é")]
    for hub, carrier in places:
        tasks.sees(0, 0, hub=hub, carrier=carrier)
        tasks.sees(1, 5, 14, hub=hub, carrier=carrier)
        tasks.sees(2, 23, hub=hub, carrier=carrier)
    for task in range(3):
        tasks.closes(task, 100)
    finals = {tuple(final[group.name] for group in groups): in_minutes(final) for final in tasks.finals(view)}
    named = {places[at][: len(groups)] if len(groups) != 1 else (places[at][0],) for at in range(3)}
    assert finals == ({(): (0, 33, 12)} if not groups else dict.fromkeys(named, (0, 33, 4)))


def test_an_open_session_that_grows_by_one_behind_the_mark_is_published_as_one() -> None:
    tasks = Tasks(replace(SESSIONS, grace_seconds=600))
    tasks.sees(0, 12, 19)
    tasks.sees(1, 5)
    tasks.closes(1, 100)
    tasks.closes(0, 20)
    tasks.sees(0, 36, 28)
    tasks.restart(compact=True)
    assert tasks.published == []
    tasks.closes(0, 100)
    assert tasks.published == [(5, 46, 5)]


def test_a_session_s_beginning_that_comes_late_but_in_time_is_in_its_final() -> None:
    tasks = Tasks(replace(SESSIONS, grace_seconds=1800))
    tasks.sees(0, 20)
    tasks.sees(1, 2)
    tasks.sees(0, 11)
    for task in (0, 1):
        tasks.closes(task, 100)
    assert tasks.published == [(2, 30, 3)]


def test_the_order_of_two_topics_changes_no_final() -> None:
    published = []
    for topics in ((AIR, ROAD), (ROAD, AIR)):
        tasks = Tasks()
        for at, topic in enumerate(topics):
            tasks.sees(0, *((0, 7), (14, 21))[topics.index(AIR) ^ at], topic=topic)
            tasks.sees(1, *((28, 60), (35, 42))[topics.index(AIR) ^ at], topic=topic)
        for task in (0, 1):
            tasks.closes(task, 40)
            tasks.closes(1 - task, 100)
        published.append(tasks.published)
    assert published == [[(0, 52, 7), (60, 70, 1)]] * 2


def test_one_topic_that_is_behind_holds_its_task_s_mark() -> None:
    tasks = Tasks()
    tasks.sees(0, 0)
    tasks.closes(0, 100, topics=[AIR])
    tasks.closes(1, 100)
    assert tasks.published == []
    tasks.closes(0, 100)
    assert tasks.published == [(0, 10, 1)]


def test_a_task_without_a_record_holds_finals_back_until_its_watermark_is_raised() -> None:
    tasks = Tasks(partitions=3)
    tasks.sees(0, 0)
    tasks.sees(1, 3)
    tasks.closes(0, 100)
    tasks.closes(1, 100)
    assert tasks.published == []
    tasks.closes(2, 100)
    assert tasks.published == [(0, 13, 2)]


def test_a_record_that_comes_for_a_published_session_is_late_or_begins_another() -> None:
    tasks = Tasks()
    tasks.sees(0, 0)
    tasks.closes(0, 10)
    tasks.closes(1, 10)
    assert tasks.published == [(0, 10, 1)]
    tasks.sees(0, 9, 11)
    assert [record.offset for record in tasks.late] == [1]
    for task in (0, 1):
        tasks.closes(task, 100)
    assert tasks.published == [(0, 10, 1), (11, 21, 1)]

"""Sessions in one run of Spark: right ones match, and of those that are not each group names what was done to it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.settings import Settings
from app.base.terminal import Terminal
from app.domain.difference import DifferenceKind, RowPlace
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from spark_batch.findings.shown.report import show
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import write_many_rides
from tests.support.material.views import SHIFTS
from tests.support.naming.clusters import PLANTS, Planted, plant, sides, told
from tests.support.naming.judged import judged
from tests.support.reconciled import Checked, check

RIDES_EACH = 150
RIGHT = replace(SHIFTS, number=90, name="right_shifts")
ALTERED_BY = 100


@dataclass
class SpoiltSessions:
    plants: list[Planted]
    altered: RowPlace
    checked: Checked


@pytest.fixture(scope="module")
def spoilt(
    services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SpoiltSessions]:
    rng = random.Random(4)
    with new_world(services, topics=2, views=(SHIFTS, RIGHT)) as world:
        for number, topic in enumerate(world.source.topics):
            for partition in (0, 1):
                write_many_rides(world, 2 * number + partition, TopicPartition(topic.name, partition), RIDES_EACH)
        fold_tasks(world)
        plants = _planted(rng, world)
        altered = _altered(world, {one.place for one in plants})
        yield SpoiltSessions(plants, altered, check(world, spark, tmp_path_factory.mktemp("sessions")))


def test_right_sessions_match(spoilt: SpoiltSessions) -> None:
    right = spoilt.checked.document["views"][1]
    assert (right["differing_rows"], right["differences"], right["residual"]) == (0, [], 0)
    assert right["rows"]["live"] == right["rows"]["recomputed"] > len(spoilt.plants)


def test_each_group_names_what_was_done_to_it(spoilt: SpoiltSessions) -> None:
    view = spoilt.checked.report.views[0]
    expected = sum((one.said for one in spoilt.plants), Counter[tuple[DifferenceKind, int, int]]())
    assert len(spoilt.plants) == len(PLANTS)
    assert told(view.differences) == expected
    assert view.residual == 0
    places = {(one.row.partition, one.row.key.group) for one in view.differences if one.changes}
    assert places == {(task, key.group) for task, key in (one.place for one in spoilt.plants)}


def test_a_session_of_other_values_is_altered(spoilt: SpoiltSessions) -> None:
    (one,) = (one for one in spoilt.checked.report.views[0].differences if not one.changes)
    assert (one.kind, one.row.place, one.cells) == (DifferenceKind.ALTERED, spoilt.altered, ("fare", "rows"))


def test_the_report_tells_the_sessions_of_each_side(spoilt: SpoiltSessions) -> None:
    differences = spoilt.checked.document["views"][0]["differences"]
    moved = [one for one in differences if one["rows"]["live"] != one["rows"]["recomputed"]]
    assert moved
    for one in moved:
        starts = [row["start_us"] for side in one["rows"].values() for row in side]
        assert one["window_start_us"] == min(starts)
        assert {*(one["recomputed"] or one["live"])} == {*SHIFTS.cells}


def test_where_sessions_lie_is_shown_and_no_digest_of_them(spoilt: SpoiltSessions) -> None:
    shown = StringIO()
    show(spoilt.checked.report, Path("folder"), Terminal(file=shown, width=200))
    assert "    recomputed: 2026-01-" in shown.getvalue()
    assert "rows: live" not in shown.getvalue()


def _planted(rng: random.Random, world: World) -> list[Planted]:
    """Each kind of fault in a group of its own, as far as there are groups."""
    view = world.views[0]
    witnesses = [one for one in judged(view, world.records) if one.key is not None]
    plants: list[Planted] = []
    for kinds in PLANTS:
        chosen = plant(rng, view, witnesses, kinds, [one.place for one in plants])
        plants += [chosen] if chosen is not None else []
    changes = {origin: times for one in plants for origin, times in one.changes.items()}
    stored, _ = sides(view, witnesses, changes)
    for task, held in world.tasks.items():
        held.live[view.name] = {key: cells for (of, key), cells in stored.items() if of == task}
        held.changelog[view.name] = dict(held.live[view.name])
    return plants


def _altered(world: World, taken: set[RowPlace]) -> RowPlace:
    """A row of a group that has no fault gets another value on both stored sides."""
    view = world.views[0]
    at = view.cells.index("fare")

    def is_free(task: int, key: RowKey) -> bool:
        return (task, key._replace(window_start_us=0)) not in taken

    rows = [(task, key) for task, held in world.tasks.items() for key in held.live[view.name] if is_free(task, key)]
    task, key = rows[0]
    for side in (world.tasks[task].live, world.tasks[task].changelog):
        cells = side[view.name][key]
        side[view.name][key] = (*cells[:at], cells[at] + ALTERED_BY, *cells[at + 1 :])
    return task, key

"""Runs over some windows alone: all that a record of that time can be in is compared, and nothing that ended before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.files.trail import Trail
from app.base.files.verdicts import LastVerdicts, Verdict
from app.base.settings import Settings
from app.domain.rows import RowKey
from app.domain.view import View
from app.domain.windows.scope import Scope
from app.rides.views import ZONE_DEMAND
from spark_batch.findings.since import since_last
from spark_batch.layers.history import History
from tests.support.material.histories import START_US
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import write_random_rides
from tests.support.material.views import DAYS, SHIFTED, SHIFTS, UNEVEN, UNGROUPED
from tests.support.reconciled import SEED, changed, check

HOUR_US = 3_600_000_000
FROM_US, TO_US = START_US + 3 * HOUR_US, START_US + 5 * HOUR_US
SCOPE = Scope(FROM_US, TO_US)
RIDES_EACH = 80
FIRST_MEASURE = 2
VIEWS = (ZONE_DEMAND, UNEVEN, DAYS, SHIFTED, SHIFTS, UNGROUPED)
A_FEW = (ZONE_DEMAND, SHIFTS, UNGROUPED)
"""One whose windows leave the run, and two of which it compares all."""


@pytest.fixture
def world(services: Settings, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    """With a history, which its runs keep."""
    with new_world(services, topics=1, views=request.param) as made:
        made.settings = made.settings.model_copy(update={"history_dir": tmp_path / "history"})
        write_random_rides(made, SEED, RIDES_EACH)
        fold_tasks(made)
        yield made


@pytest.mark.parametrize("world", [VIEWS], ids=["every kind"], indirect=True)
def test_rows_of_windows_with_a_part_in_the_time_are_compared(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    inside = {view.name: _keys(world, view, is_inside=True) for view in world.views}
    outside = {view.name: _keys(world, view, is_inside=False) for view in world.views}
    assert all(inside.values())
    assert [name for name, keys in outside.items() if not keys] == [SHIFTS.name, UNGROUPED.name]
    for view in world.views[:4]:
        partition, key = outside[view.name][0]
        world.spoil_both(partition, view, lambda table, key=key: table.pop(key))

    found = check(world, spark, tmp_path, scope=SCOPE)

    assert (found.report.reason, found.report.verdict) == (None, Verdict.MATCH)
    compared = {view["view"]: view["rows"]["recomputed"] for view in found.document["views"]}
    assert compared == {name: len(keys) for name, keys in inside.items()}
    assert found.document["scope"] == {"from_us": FROM_US, "to_us": TO_US, "since_run": None}
    kept = {folder.name.partition("-")[0] for folder in (tmp_path / "history").glob("*/gold/*")}
    assert kept == {SHIFTS.name}
    assert LastVerdicts(tmp_path, world.settings.app_id).read() == {}

    for view in world.views[:4]:
        partition, key = inside[view.name][-1]
        world.spoil_both(
            partition, view, lambda table, key=key: table.update({key: changed(table[key], FIRST_MEASURE)})
        )
    again = check(world, spark, tmp_path, scope=SCOPE)

    assert again.report.verdict is Verdict.MISMATCH
    assert [view["differing_rows"] for view in again.document["views"]] == [1, 1, 1, 1, 0, 0]
    assert [view["classes"] for view in again.document["views"]] == [{"ALTERED": 1}] * 4 + [{}] * 2


@pytest.mark.parametrize("world", [A_FEW[:1]], ids=["tumbling"], indirect=True)
def test_a_time_of_which_no_row_is_left_gives_no_verdict(world: World, spark: SparkSession, tmp_path: Path) -> None:
    scope = Scope(START_US - 200 * HOUR_US, START_US - 100 * HOUR_US)
    found = check(world, spark, tmp_path, scope=scope).report
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.reason == f"no view has a row in {scope}: they have left the tables, or are yet to come"


@pytest.mark.parametrize("world", [A_FEW], ids=["a few"], indirect=True)
def test_a_run_since_the_last_one_compares_what_had_not_ended_then_and_goes_on_with_gold(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    trail, name = Trail(tmp_path), world.settings.app_id
    assert since_last(trail, name, world.views) is None
    first = check(world, spark, tmp_path).report
    scope = since_last(trail, name, world.views)
    assert scope is not None
    assert scope.since_run == first.run_id
    narrowed = [one.final_to_us for one in first.views if scope.narrows(one.view.window)]
    assert scope.from_us == min(narrowed) > START_US
    check(world, spark, tmp_path, scope=SCOPE)
    assert since_last(trail, name, world.views) == scope

    write_random_rides(world, SEED + 1, RIDES_EACH)
    fold_tasks(world)
    second = check(world, spark, tmp_path, scope=scope).report
    assert (second.reason, second.verdict) == (None, Verdict.MATCH)
    rows = {one.name: one.recomputed_rows for one in second.views}
    stored = {view.name: sum(len(task.live[view.name]) for task in world.tasks.values()) for view in world.views}
    assert 0 < rows[ZONE_DEMAND.name] < stored[ZONE_DEMAND.name]
    assert (rows[SHIFTS.name], rows[UNGROUPED.name]) == (stored[SHIFTS.name], stored[UNGROUPED.name])
    gold = History(spark, tmp_path / "history" / name).gold(world.view)
    assert (gold.told["run"], gold.told["final_to_us"]) == (second.run_id, second.views[0].final_to_us)
    then = since_last(trail, name, world.views)
    assert then is not None
    assert then.since_run == second.run_id


def _keys(world: World, view: View, *, is_inside: bool) -> list[tuple[int, RowKey]]:
    """Stored rows of windows with a part in SCOPE, or of the others; by task, in the order of their starts."""
    keys = [(task, key) for task, stored in world.tasks.items() for key in stored.live[view.name]]
    return sorted((one for one in keys if _has_part(view, one[1]) == is_inside), key=lambda one: repr(one[1]))


def _has_part(view: View, key: RowKey) -> bool:
    """Of any window that the stored row counts for."""
    if not view.window.ends or view.window.merges:
        return True
    assert key.window_start_us is not None
    first_us = key.group[0] if view.window.overlap else key.window_start_us
    assert isinstance(first_us, int)
    return first_us < TO_US and view.window.end(key.window_start_us) > FROM_US

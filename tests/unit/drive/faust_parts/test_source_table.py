"""What a task group's tables remember of tasks that were here."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest

from app.base.settings import Settings
from app.edge.worker import create_catalogue_worker
from app.engine.drive.runner import TaskRunner
from app.engine.drive.transactions.writer import Fenced
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.support.material.stored.tables import task_of


def keeping(task: int) -> Any:
    """The table of rides with one task that runs here, and nothing around it."""
    table: Any
    table = next(one for one in create_catalogue_worker(Settings()).groups if one.name == RIDES.name)
    table.app = Mock()
    table._start(task, task_of(task, {view: {} for view in VIEWS}), Mock(stop=AsyncMock()))
    return table


async def test_the_marker_with_which_a_task_began_stays_known_after_it_was_handed_over() -> None:
    """A rebalance over a changelog that is gone hands over all tasks, and gives none: the watch must know its id."""
    table = keeping(2)
    marker = table.runners[2].core.state.marker
    await table.quiesce()
    assert (dict(table.runners), dict(table.begun)) == ({}, {2: marker})


async def test_a_task_that_is_fenced_while_it_is_handed_over_is_its_next_owners(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was taken again behind the rebalance, which had given it to another worker: that one was fenced, and this one
    ended, as it had no such partition to read."""
    table = keeping(2)
    runner = table.runners[2]
    again: list[TaskRunner] = []
    monkeypatch.setattr(table._retaking, "begin", again.append)

    async def fenced_as_it_stops(_: float) -> bool:
        table._on_failure(runner, Fenced("another worker has taken this task over"))
        return False

    monkeypatch.setattr(runner, "stop", fenced_as_it_stops)
    await table.quiesce()
    assert again == []


async def test_a_task_that_is_fenced_before_it_is_handed_over_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = keeping(2)
    runner = table.runners[2]
    again: list[TaskRunner] = []
    monkeypatch.setattr(table._retaking, "begin", again.append)
    table._on_failure(runner, Fenced("another worker has taken this task over"))
    assert (again, dict(table.runners)) == ([runner], {})
    await runner.stop(0)


async def test_what_is_being_taken_again_when_a_rebalance_comes_is_handed_over_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = keeping(2)

    async def ends_as_it_takes_one() -> None:
        table._start(3, task_of(3, {view: {} for view in VIEWS}), Mock(stop=AsyncMock()))

    monkeypatch.setattr(table._retaking, "stop", ends_as_it_takes_one)
    await table.quiesce()
    assert dict(table.runners) == {}

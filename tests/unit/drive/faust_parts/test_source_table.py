"""What a task group's tables remember of tasks that were here."""

from __future__ import annotations

from typing import Any
from unittest.mock import AsyncMock, Mock

from app.base.settings import Settings
from app.edge.worker import create_catalogue_worker
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.support.material.stored.tables import task_of


async def test_the_marker_with_which_a_task_began_stays_known_after_it_was_handed_over() -> None:
    """A rebalance over a changelog that is gone hands over all tasks, and gives none: the watch must know its id."""
    table: Any
    table = next(one for one in create_catalogue_worker(Settings()).groups if one.name == RIDES.name)
    table.app, state = Mock(), task_of(2, {view: {} for view in VIEWS})
    table._start(2, state, Mock(stop=AsyncMock()))
    await table.quiesce()
    assert (dict(table.runners), dict(table.begun)) == ({}, {2: state.marker})

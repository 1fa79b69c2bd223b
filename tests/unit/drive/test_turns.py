"""A budget of transactions that is too small for a task's turn to come before it counts as stalled is refused."""

from __future__ import annotations

import pytest

from app.base.settings import Settings
from app.edge.worker import create_worker
from app.engine.drive.budget import TurnsTooRare, require_turns


def worker(per_second: float, stalled_seconds: float) -> Settings:
    told = {"transactions_per_second": per_second, "stalled_seconds": stalled_seconds, "stalled_exit_seconds": 0}
    return Settings.load(worker=told)


@pytest.mark.parametrize(("per_second", "tasks"), [(0.01, 1), (0.79, 4), (2, 11), (100, 501)])
def test_turns_that_come_too_late_are_refused_in_words(per_second: float, tasks: int) -> None:
    with pytest.raises(TurnsTooRare) as refused:
        require_turns(worker(per_second, 5).worker, tasks)
    said = str(refused.value)
    assert f"FLAGFALL_WORKER_TRANSACTIONS_PER_SECOND={per_second:g}" in said
    assert "FLAGFALL_WORKER_STALLED_SECONDS=5" in said
    assert f"{tasks} task" in said


@pytest.mark.parametrize(("per_second", "tasks"), [(0, 10**6), (0.2, 1), (0.8, 4), (2, 10), (100, 500)])
def test_one_turn_each_in_time_is_enough_and_so_is_no_budget(per_second: float, tasks: int) -> None:
    require_turns(worker(per_second, 5).worker, tasks)


def test_the_least_that_is_told_to_be_enough_is() -> None:
    with pytest.raises(TurnsTooRare, match=r"at least 0\.134,") as refused:
        require_turns(worker(0.01, 30).worker, 4)
    assert "or 0" in str(refused.value)
    require_turns(worker(0.134, 30).worker, 4)


def test_a_worker_is_not_made_with_such_a_budget() -> None:
    """One may have to own all tasks: one for each partition."""
    with pytest.raises(TurnsTooRare, match="8 tasks"):
        create_worker(worker(0.01, 5), [NoAgent(), NoAgent()], [])  # type: ignore[list-item]


class NoAgent:
    """Is never asked for anything."""

    def define(self, settings: Settings, /) -> None: ...

    def attach(self, app: object, table: object, /) -> None: ...

"""Tasks that somebody else has fenced are taken again, until a rebalance decides anew."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from app.engine.drive.ownership import retaking
from app.engine.drive.ownership.retaking import Retaking


class Owner:
    """Stands for the table: notes what happens, and fences `then` while it takes the first tasks."""

    def __init__(self, then: int | None = None, error: Exception | None = None) -> None:
        self.told: list[Any] = []
        self.done = asyncio.Event()
        self._then, self._error = then, error
        self.retaking = Retaking("rides", self._take, self._fail)

    def fenced(self, partition: int) -> None:
        self.retaking.begin(self._runner(partition))

    async def _take(self, partitions: Collection[int]) -> None:
        self.told.append(("take", sorted(partitions)))
        if self._error is not None:
            raise self._error
        if self._then is not None:
            self.fenced(self._then)
            self._then = None
        else:
            self.done.set()

    async def _fail(self, error: Exception) -> None:
        self.told.append(("fail", str(error)))
        self.done.set()

    def _runner(self, partition: int) -> Any:
        async def stop() -> None:
            self.told.append(("stopped", partition))

        state = SimpleNamespace(partition=partition)
        return SimpleNamespace(core=SimpleNamespace(state=state), writer=SimpleNamespace(stop=stop))


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retaking, "FENCED_BACKOFF_SECONDS", 0)


async def test_tasks_fenced_together_are_taken_together_behind_their_writers_end() -> None:
    owner = Owner()
    owner.fenced(2)
    owner.fenced(0)
    await owner.done.wait()
    assert owner.told == [("stopped", 2), ("stopped", 0), ("take", [0, 2])]


async def test_one_that_is_fenced_while_another_is_taken_has_its_turn_next() -> None:
    owner = Owner(then=1)
    owner.fenced(0)
    await owner.done.wait()
    assert owner.told == [("stopped", 0), ("take", [0]), ("stopped", 1), ("take", [1])]


async def test_a_rebalance_leaves_them_to_whom_they_are_assigned_next() -> None:
    owner = Owner()
    owner.fenced(0)
    await owner.retaking.stop()
    assert owner.told == [("stopped", 0)]
    owner.fenced(1)
    await owner.done.wait()
    assert owner.told[1:] == [("stopped", 1), ("take", [1])]


async def test_what_goes_wrong_is_told() -> None:
    owner = Owner(error=RuntimeError("no broker"))
    owner.fenced(0)
    await owner.done.wait()
    assert owner.told == [("stopped", 0), ("take", [0]), ("fail", "no broker")]

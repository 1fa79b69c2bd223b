"""Tasks that somebody else has fenced, while the group may still assign them to this worker."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from app.engine.drive import background
from app.engine.drive.callbacks import EndWorker, TakeAgain
from app.engine.drive.runner import TaskRunner

FENCED_BACKOFF_SECONDS = 1.0


class Retaking:
    """Takes fenced tasks again after a while, until a rebalance decides anew.

    `take` is given the partitions whose tasks were fenced, `fail` what went wrong with them.
    """

    def __init__(
        self,
        name: str,
        take: TakeAgain,
        fail: EndWorker,
    ) -> None:
        self._name, self._take, self._fail = name, take, fail
        self._fenced: dict[int, TaskRunner] = {}
        self._running: asyncio.Task[None] | None = None

    def begin(self, runner: TaskRunner) -> None:
        """Take this runner's task again, soon."""
        self._fenced[runner.core.state.partition] = runner
        if self._running is None or self._running.done():
            self._running = background.begin(self._run(), f"retaking tasks of {self._name}")

    async def stop(self) -> None:
        """Leave the fenced tasks to whom the group assigns them next."""
        fenced, self._fenced = self._fenced, {}
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
            self._running = None
        await _end_writers(fenced.values())

    async def _run(self) -> None:
        try:
            while self._fenced:
                fenced, self._fenced = self._fenced, {}
                await _end_writers(fenced.values())
                await asyncio.sleep(FENCED_BACKOFF_SECONDS)
                await self._take(fenced)
        except Exception as error:
            await self._fail(error)


async def _end_writers(runners: Collection[TaskRunner]) -> None:
    await asyncio.gather(*(runner.writer.stop() for runner in runners))

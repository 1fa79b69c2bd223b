"""Faust's recovery, with the take-over of tasks in the place of its record-by-record replay."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from faust.tables.manager import TableManager
from faust.tables.recovery import RebalanceAgain, Recovery, ServiceStopped


class TakeOverRecovery(Recovery):
    """Runs in Faust's recovery task, never inside a rebalance callback: heartbeats go on meanwhile."""

    async def _build_highwaters(self, consumer: Any, tps: Any, destination: Any, title: str) -> None:
        if title == "active":
            await self.app.groups.take_over(tps)
        await super()._build_highwaters(consumer, tps, destination, title)
        if title == "active":
            self._all_read(tps, destination)

    async def _build_offsets(self, consumer: Any, tps: Any, destination: Any, title: str) -> None:
        if title != "active":
            await super()._build_offsets(consumer, tps, destination, title)

    async def _seek_offsets(self, consumer: Any, tps: Any, offsets: Any, title: str) -> None:
        if title != "active":
            await super()._seek_offsets(consumer, tps, offsets, title)

    def _all_read(self, tps: Any, highwaters: Any) -> None:
        """Nothing is left for Faust to replay."""
        for tp in tps:  # a Counter, whose update would add
            self.active_offsets[tp] = highwaters[tp]

    async def _wait(self, coro: Any, timeout: Any = None) -> None:
        """Without the stock time limit: after it the stock recovery ends for good, silently."""
        waited = await self.wait_first(coro, self.signal_recovery_start)
        if waited.stopped:
            raise ServiceStopped()
        if self.signal_recovery_start in waited.done:
            raise RebalanceAgain()

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """A stop or another rebalance meanwhile is told to who waits for this, by the same event, and by it alone: a
        waiter that is cancelled at that moment would leave a failure that nobody retrieves."""
        with suppress(ServiceStopped, RebalanceAgain):
            await super().on_recovery_completed(generation_id)


class TakeOverTableManager(TableManager):
    """Makes the recovery above instead of Faust's."""

    _recovery: Recovery | None

    @property
    def recovery(self) -> Recovery:
        if self._recovery is None:
            self._recovery = TakeOverRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery

    async def on_start(self) -> None:
        """At once: Faust waits a second for tables that an agent may still declare, ours are all kept before."""
        await self._update_channels()
        await self.recovery.start()

"""Looks again and again whether the worker gets on; says so if it does not, and in the end ends it.

Consumers that silently stop are what Faust is known for. The ends of the logs are therefore asked by a client of
their own: what the fetcher last heard would stand still together with the fetcher.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import mode
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.base.kafka.cluster import Cluster, ClusterError
from app.domain.records import TopicPartition
from app.engine.drive import background
from app.engine.drive.callbacks import EndWorker
from app.engine.drive.ending import Stalled
from app.engine.drive.questions import AskProgress
from app.engine.drive.standing import ProgressSample
from app.engine.drive.watch.progress import Cause, Ends, GroupProgress, Stall, worst

log = logging.getLogger(__name__)

LOOKS_PER_STALL = 6
LONGEST_WAIT_SECONDS = 5.0


class Liveness(mode.Service):
    """`looks` gives each task group as it is now; `end` is called once, when a stall has lasted `exit_seconds`."""

    def __init__(
        self,
        looks: AskProgress,
        cluster: Cluster,
        registry: CollectorRegistry,
        *,
        stalled_seconds: float,
        exit_seconds: float,
        end: EndWorker,
    ) -> None:
        super().__init__()
        self._looks, self._cluster, self._end = looks, cluster, end
        self._stalled_seconds, self._exit_seconds = stalled_seconds, exit_seconds
        self._wait_seconds = min(stalled_seconds / LOOKS_PER_STALL, LONGEST_WAIT_SECONDS)
        self._progress: dict[str, GroupProgress] = {}
        self._told: dict[str, Stall] = {}
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="log-ends")  # the shared one may be what hangs
        self._looking: asyncio.Task[None] | None = None
        self.stalls: list[Stall] = []
        """The worst stall of each group that has one, as of the last look; of any length."""
        registry.register(StallCollector(self))

    async def on_start(self) -> None:
        self._looking = background.begin(self._look_again(), "the watch on progress")

    async def on_stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        self._asking.shutdown(wait=False, cancel_futures=True)

    @property
    def dead(self) -> Stall | None:
        """A stall that is long enough to be told, and that a restart may help."""
        return worst(s for s in self.stalls if s.cause.is_ours and s.seconds >= self._stalled_seconds)

    async def _look_again(self) -> None:
        ran_seconds, looked_at = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(self._wait_seconds)
            looks = list(self._looks())
            ends = await self._ends(looks)
            now = time.monotonic()
            ran_seconds += min(now - looked_at, 3 * self._wait_seconds)  # a stopped process wakes with a jumped clock
            looked_at = now
            self.stalls = [stall for look in looks if (stall := self._stall(look, ends, ran_seconds)) is not None]
            self._tell()
            last = self.dead
            if last is not None and 0 < self._exit_seconds <= last.seconds:
                await self._end(Stalled(f"{last}; the worker ends to be started again"))
                return

    def _stall(self, look: ProgressSample, ends: Ends | None, now_seconds: float) -> Stall | None:
        return worst(self._progress.setdefault(look.group, GroupProgress()).stalls(look, ends, now_seconds))

    def _tell(self) -> None:
        """One line when a stall has become long, or its cause is another one; one when it is seen to be over."""
        long = {stall.group: stall for stall in self.stalls if stall.seconds >= self._stalled_seconds}
        for group, stall in long.items():
            if group not in self._told or self._told[group].cause is not stall.cause:
                log.warning("%s", stall)
        unseen = {stall.group for stall in self.stalls if stall.cause is Cause.BROKER_SILENT} - long.keys()
        for group in self._told.keys() - long.keys() - unseen:
            log.info("%s: gets on again", group)
        self._told = {group: stall for group, stall in self._told.items() if group in unseen} | long

    async def _ends(self, looks: Iterable[ProgressSample]) -> Ends | None:
        """Ends of all logs, and for those that end above a position how much of them may be read."""
        positions = {place: at for look in looks for place, at in look.positions.items()}
        try:
            written = await self._ask(positions, committed=False)
            behind = [place for place, end in written.items() if end > positions[place]]
            return Ends(written, await self._ask(behind, committed=True))
        except ClusterError:
            return None

    async def _ask(self, places: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, int]:
        asked = list(places)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._asking, lambda: self._cluster.log_ends(asked, committed=committed))


class StallCollector(Collector):
    """`flagfall_stalled_seconds`, of those groups that do not get on at the moment."""

    def __init__(self, liveness: Liveness) -> None:
        self._liveness = liveness

    def describe(self) -> Iterable[Metric]:
        """Nothing: the name is known without asking for values."""
        return ()

    def collect(self) -> Iterable[Metric]:
        told = "For how long a task group has had input and made no progress, and why."
        gauge = GaugeMetricFamily("flagfall_stalled_seconds", told, labels=["group", "cause"])
        for stall in self._liveness.stalls:
            gauge.add_metric([stall.group, stall.cause.value], stall.seconds)
        yield gauge

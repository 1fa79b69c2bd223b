"""Watches for topic-partitions that have gone quiet, and has their owner raise the watermark (rule 8).

It is the one decision by wall clock: it is written down with the offset from which it holds, and thereby an input of
every recomputation.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

import mode

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Marker
from app.domain.records import TopicPartition
from app.domain.source import Source
from app.engine.core.definition import TaskDefinition
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.markers import last_markers
from app.engine.drive.questions import AskRunners

log = logging.getLogger(__name__)

LOOKS_PER_WAIT = 4


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen of a topic-partition, and since when (monotonic) it has been so."""

    next_offset: int
    log_end: int
    watermark_us: int
    since_seconds: float

    @property
    def at_end(self) -> bool:
        return self.next_offset == self.log_end


class IdleWatch(mode.Service):
    """Looks at all topic-partitions of a group's sources; advances those of the tasks that are owned here.

    `runners` gives those of this worker, by partition. A topic-partition is idle when its task has read all of its
    log, and the log has not grown, for `idle_after_seconds`. It is raised to the lowest watermark of its source's
    partitions that are not idle; while all are idle, none is.
    """

    def __init__(
        self,
        definition: TaskDefinition,
        connections: Connections,
        runners: AskRunners,
        *,
        partitions: int,
        idle_after_seconds: float,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._definition, self._connections, self._runners = definition, connections, runners
        self._partitions, self._idle_after_seconds = partitions, idle_after_seconds
        self._seen: dict[TopicPartition, Sight] = {}

    async def on_start(self) -> None:
        self.add_future(self._watch())

    async def _watch(self) -> None:
        while not self.should_stop:
            await self.sleep(self._idle_after_seconds / LOOKS_PER_WAIT)
            if self._runners():
                await self._look()

    async def _look(self) -> None:
        places = [TopicPartition(t, p) for t in self._definition.by_topic for p in range(self._partitions)]
        ends = await asyncio.to_thread(self._connections.cluster.log_ends, places, committed=True)
        markers = await last_markers(self._definition, self._connections, range(self._partitions))
        now = time.monotonic()
        self._seen = {place: self._sight(place, markers.get(place.partition), ends[place], now) for place in places}
        for source in self._definition.sources:
            self._advance_idle(source, now)

    def _sight(self, place: TopicPartition, marker: Marker | None, log_end: int, now: float) -> Sight:
        position = None if marker is None else marker.inputs.get(place.topic)
        next_offset = 0 if position is None else position.next_offset
        watermark_us = NO_WATERMARK if position is None else position.watermark_us
        before = self._seen.get(place)
        unchanged = before is not None and (before.next_offset, before.log_end) == (next_offset, log_end)
        since = before.since_seconds if before is not None and unchanged else now
        return Sight(next_offset, log_end, watermark_us, since)

    def _advance_idle(self, source: Source, now: float) -> None:
        topics = {topic.name for topic in source.topics}
        mine = {place: sight for place, sight in self._seen.items() if place.topic in topics}
        idle = {place for place, s in mine.items() if s.at_end and now - s.since_seconds >= self._idle_after_seconds}
        lowest_us = min((s.watermark_us for place, s in mine.items() if place not in idle), default=NO_WATERMARK)
        for place in idle:
            runner = self._runners().get(place.partition)
            if runner is not None and mine[place].watermark_us < lowest_us:
                log.info("%s is idle: its watermark is raised to that of the others", place)
                runner.advance(place.topic, mine[place].next_offset, lowest_us)

"""Looks again and again whether the topics that tasks read are still those that their states were made from.

The fetcher goes by names and offsets: a topic that was deleted and made again between two fetches gives it other
records at the same offsets, and partitions that were added give it nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mode

from app.base.cluster import Cluster, ClusterError, TopicFacts
from app.domain.errors import StateError
from app.domain.records import TopicPartition
from app.engine.drive.inputs import created_anew, other_count
from app.engine.drive.runner import TaskRunner

LOOK_SECONDS = 2.0
"""So long at most may a task go on with another topic's records; its marker is refused from then on."""

Remembered = dict[str, tuple[TopicPartition, str]]
"""By topic, one place of it and the topic's id in that task's marker."""


class InputWatch(mode.Service):
    """`runners` gives the tasks of a group that run here; `end` is called once, with what is wrong in words."""

    def __init__(
        self,
        cluster: Cluster,
        runners: Callable[[], Mapping[int, TaskRunner]],
        *,
        partitions: int,
        end: Callable[[StateError], Awaitable[None]],
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._cluster, self._runners, self._partitions, self._end = cluster, runners, partitions, end

    async def on_start(self) -> None:
        self.add_future(self._watch())

    async def _watch(self) -> None:
        while not self.should_stop:
            await self.sleep(LOOK_SECONDS)
            error = await self._look()
            if error is not None:
                await self._end(error)
                return

    async def _look(self) -> StateError | None:
        remembered = self._remembered()
        try:
            facts = await asyncio.to_thread(self._cluster.topics, remembered)
        except ClusterError:
            return None  # away, or the topic is gone: fetching tells
        return next((e for t, fact in facts.items() if (e := self._difference(t, fact, remembered))), None)

    def _remembered(self) -> Remembered:
        markers = {partition: runner.core.state.marker for partition, runner in self._runners().items()}
        return {
            topic: (TopicPartition(topic, partition), position.topic_id)
            for partition, marker in markers.items()
            for topic, position in marker.inputs.items()
        }

    def _difference(self, topic: str, facts: TopicFacts, remembered: Remembered) -> StateError | None:
        place, topic_id = remembered[topic]
        if facts.id != topic_id:
            return created_anew(place, facts.id, topic_id)
        if facts.partitions != self._partitions:
            return other_count(topic, facts.partitions, self._partitions)
        return None

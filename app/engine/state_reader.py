"""States of tasks out of their changelog, checked against their inputs: what a take-over starts from."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from app.base import names
from app.domain.records import TopicPartition
from app.engine.changelog_reader import read_to_end
from app.engine.connections import Connections
from app.engine.inputs import Input, inputs_of
from app.engine.restore import Restorer
from app.engine.state import TaskState
from app.engine.task import TaskDefinition

log = logging.getLogger(__name__)


class StateReader:
    """Reads the states of one source's tasks, which number `count` in all."""

    def __init__(self, definition: TaskDefinition, connections: Connections, count: int) -> None:
        self._definition, self._connections, self._count = definition, connections, count
        self._changelog = names.changelog_topic(definition.application, definition.source.name)

    async def read(self, partitions: Sequence[int], kept: Mapping[int, TaskState]) -> dict[int, TaskState]:
        """The state of each task, to its log's end; `kept` are states that cover their log up to their marker.

        To be called when the former owners are fenced, or the end moves. StateError if log and inputs disagree.
        """
        cluster, topic = self._connections.cluster, self._changelog
        places = {p: TopicPartition(topic, p) for p in partitions}
        ends, starts, inputs = await asyncio.gather(
            asyncio.to_thread(cluster.log_ends, places.values(), committed=False),
            asyncio.to_thread(cluster.log_starts, places.values()),
            inputs_of(cluster, self._definition.topics, partitions, self._count),
        )
        restorers = {p: self._restorer(kept.get(p), ends[places[p]]) for p in partitions}
        await read_to_end(
            self._connections.client,
            topic,
            {p: max(restorers[p].marker_offset + 1, starts[places[p]]) for p in partitions},
            {p: ends[places[p]] for p in partitions},
            lambda batch: restorers[batch.partition].read(batch),
        )
        return {p: self._state(p, restorers[p], inputs[p]) for p in partitions}

    def _restorer(self, kept: TaskState | None, end: int) -> Restorer:
        if kept is None or kept.marker_offset >= end:  # else the changelog is another one than it was
            return Restorer(self._definition.views)
        return Restorer.continuing(self._definition.views, kept)

    def _state(self, partition: int, restorer: Restorer, inputs: dict[str, Input]) -> TaskState:
        if restorer.marker is None:
            log.info("task %d: nothing in its changelog; it begins where its topics do", partition)
            return self._definition.empty_state(partition, {t: i.at_start() for t, i in inputs.items()})
        for topic, position in restorer.marker.inputs.items():
            if topic in inputs:
                inputs[topic].check(position)
        if restorer.foreign:
            log.warning(
                "task %d: %d rows of views or versions not declared here were left alone", partition, restorer.foreign
            )
        marker = self._definition.with_views(restorer.marker)
        log.info(
            "task %d: %d changelog records read, %d rows, goes on at %s",
            partition,
            restorer.records,
            sum(map(len, restorer.states.values())),
            ", ".join(f"{topic} {offset}" for topic, offset in sorted(marker.next_offsets.items())),
        )
        return TaskState(marker, restorer.states, restorer.marker_offset, restorer.blocks)

"""States of tasks out of their changelog, checked against their inputs: what a take-over starts from."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from app.base import names
from app.codecs.stored.changelog import view_of
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.engine.core.begun import require_first, require_same
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer
from app.engine.core.task_state import TaskState
from app.engine.drive.callbacks import Ready
from app.engine.drive.kafka.changelog_reader import read_to_end
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.inputs import Input, inputs_of
from app.engine.drive.kafka.markers import begun_of, last_markers
from app.engine.drive.memory import give_back_freed

log = logging.getLogger(__name__)


class Progress(NamedTuple):
    """How much of a task's changelog has been read, in offsets: compaction leaves fewer records than that."""

    partition: int
    done_offsets: int
    all_offsets: int


class OnStep(Protocol):
    """So much of a task's changelog has been read.

    `StateReader` calls it on the loop, after every step of a partition. It must not block: it is kept for who asks.
    """

    def __call__(self, progress: Progress, /) -> None: ...


class StateReader:
    """Reads the states of one source's tasks, which number `count` in all."""

    def __init__(self, definition: TaskDefinition, connections: Connections, count: int) -> None:
        self._definition, self._connections, self._count = definition, connections, count
        self._changelog = names.changelog_topic(definition.application, definition.name)
        self.records_read = 0
        """Of changelogs, since the start: it grows while a take-over gets on."""

    async def read(
        self,
        partitions: Sequence[int],
        kept: Mapping[int, TaskState],
        *,
        ready: Ready = lambda partition, state: None,
        progress: OnStep = lambda progress: None,
    ) -> dict[int, TaskState]:
        """The state of each task, to its log's end; `kept` are states that cover their log up to their marker.

        `ready` is told each state as soon as it is whole, `progress` after every step of a partition. To be called
        when the former owners are fenced, or the end moves. StateError if log and inputs disagree, if the log is
        another than the task has begun in, or if there were another number of tasks.
        """
        cluster, topic = self._connections.cluster, self._changelog
        places = {p: TopicPartition(topic, p) for p in partitions}
        facts, ends, starts, inputs = await asyncio.gather(
            asyncio.to_thread(cluster.topics, [topic]),
            asyncio.to_thread(cluster.log_ends, places.values(), committed=False),
            asyncio.to_thread(cluster.log_starts, places.values()),
            inputs_of(cluster, self._definition.topics, partitions, self._count),
        )
        restorers = {p: self._restorer(kept.get(p), ends[places[p]]) for p in partitions}
        begins = {p: max(restorers[p].marker_offset + 1, starts[places[p]]) for p in partitions}
        states, unmarked = dict[int, TaskState](), list[int]()

        def take(batch: Batch) -> None:
            partition = batch.partition
            restorers[partition].read(batch)
            self.records_read += len(batch)
            begin, end = begins[partition], ends[places[partition]]
            progress(Progress(partition, min(batch.next_offset, end) - begin, end - begin))

        def done(partition: int) -> None:
            if restorers[partition].marker is None:
                unmarked.append(partition)
            else:
                restored(partition)

        def restored(partition: int, begun: str = "") -> None:
            restorer, now = restorers.pop(partition), facts[topic].id
            require_same(self._definition, partition, restorer.marker, begun, now)
            states[partition] = self._state(partition, restorer, inputs[partition], now)
            ready(partition, states[partition])

        whole = {p: ends[places[p]] for p in partitions}
        await read_to_end(self._connections.client, topic, begins, whole, take, done)
        begun = await begun_of(self._definition, self._connections, unmarked)
        if unmarked:
            others = await last_markers(self._definition, self._connections, range(self._count))
            require_first(self._definition, others.values())
        for partition in unmarked:
            restored(partition, begun.get(partition, ""))
        give_back_freed()
        return states

    def _restorer(self, kept: TaskState | None, end: int) -> Restorer:
        if kept is None or kept.marker_offset >= end:  # else the changelog is another one than it was
            return Restorer(self._definition)
        return Restorer(self._definition, kept)

    def _state(self, partition: int, restorer: Restorer, inputs: dict[str, Input], changelog_id: str) -> TaskState:
        starts = {topic: given.at_start() for topic, given in inputs.items()}
        if restorer.marker is None:
            log.info("task %d: nothing in its changelog; it begins where its topics do", partition)
            return restorer.finish(starts, partition, changelog_id)
        for topic, position in restorer.marker.inputs.items():
            if topic in inputs:
                inputs[topic].check(position)
        if restorer.foreign:
            log.warning("task %d: of what is not declared here, %s", partition, _told(restorer.foreign))
        state = restorer.finish(starts, partition, changelog_id)
        log.info(
            "task %d: %d changelog records read, %d rows, goes on at %s",
            partition,
            restorer.records,
            restorer.row_count,
            ", ".join(f"{topic} {offset}" for topic, offset in sorted(state.marker.next_offsets.items())),
        )
        return state


def _told(foreign: Mapping[bytes, int]) -> str:
    """Numbers, versions and counts of records that were passed over, by the first bytes of their keys."""
    told = [f"{count} records of number {n} version {version}" for (n, version), count in _by_version(foreign).items()]
    return f"these were left alone: {', '.join(told)}"


def _by_version(foreign: Mapping[bytes, int]) -> dict[tuple[int, str], int]:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    for head, count in sorted(foreign.items()):
        counts[view_of(head)] += count
    return counts

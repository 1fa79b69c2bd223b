"""What was offered to a task and waits for its transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import NamedTuple

from app.engine.core.batch import Batch
from app.engine.core.task import TaskCore
from app.engine.drive.callbacks import BackPressure, Done

HOLD_BYTES = 128 << 20
"""No more of a topic is joined, or taken while so much waits: few records may be large."""


class TakenBatch(NamedTuple):
    """What waited of a topic, merged to one batch; `dones` are called when its transaction has been committed."""

    batch: Batch
    dones: list[Done]


class TakenParts(NamedTuple):
    """The same before it is merged, which copies all of it."""

    parts: list[Batch]
    dones: list[Done]

    def merged(self) -> TakenBatch:
        return TakenBatch(Batch.joined(self.parts), self.dones)


class WaitingBatches:
    """Batches by topic, the topics in the order of their turns.

    `full` and `drained` tell the fetcher of back-pressure, per topic: of one that holds enough for the largest batch,
    in records or in bytes, nothing more is taken. Topics that are `withheld`, as of whenever something is asked, have
    no turn.
    """

    def __init__(
        self,
        core: TaskCore,
        hold_records: int,
        full: BackPressure,
        drained: BackPressure,
        withheld: Collection[str] = (),
    ) -> None:
        self._core, self._hold_records, self._withheld = core, hold_records, withheld
        self._full, self._drained = full, drained
        self._batches: dict[str, list[tuple[Batch, Done]]] = {}
        self._blocked: set[str] = set()

    @property
    def is_full(self) -> bool:
        """Whether some topic that may have its turn is held back."""
        return any(topic not in self._withheld for topic in self._blocked)

    @property
    def ahead(self) -> list[Batch]:
        """Of each topic the next batch, whether its turn may come or not."""
        return [waiting[0][0] for waiting in self._batches.values()]

    def add(self, batch: Batch, done: Done) -> None:
        """Put it behind the others of its topic."""
        self._batches.setdefault(batch.topic, []).append((batch, done))
        if self._count(batch.topic) >= self._largest(batch.topic) or self._bytes(batch.topic) >= HOLD_BYTES:
            self._blocked.add(batch.topic)
            self._full(batch.topic)

    def not_due(self) -> list[str]:
        """Topics whose next batch must wait for records of other topics."""
        return [topic for topic, batch in self._first() if not self._core.is_due(batch)]

    def first(self, topic: str) -> Batch | None:
        """The next batch of a topic."""
        waiting = self._batches.get(topic)
        return None if waiting is None else waiting[0][0]

    def due(self) -> list[str]:
        """The topic whose turn it is, with others that may share a transaction with it up to the largest batch."""
        due = [topic for topic, batch in self._first() if self._core.is_due(batch)]
        joint = self._core.definition.joint_topics
        if not due or due[0] not in joint:
            return due[:1]
        chosen, count = due[:1], self._count(due[0])
        for topic in due[1:]:
            count += self._count(topic)
            if topic in joint and count <= self._hold_records:
                chosen.append(topic)
        return chosen

    def take_due(self) -> list[TakenParts]:
        """What makes one batch, of each topic whose turn it is."""
        return [self._take(topic) for topic in self.due()]

    def _take(self, topic: str) -> TakenParts:
        """What waits of a topic, up to the largest batch; the topic goes to the end of the line."""
        waiting, largest = self._batches.pop(topic), self._largest(topic)
        used, records, size = 1, len(waiting[0][0]), waiting[0][0].held_bytes
        for (before, _), (batch, _) in pairwise(waiting):
            follows = batch.base_offset == before.next_offset and self._core.is_due(batch)
            size += batch.held_bytes
            if records >= largest or size > HOLD_BYTES or not follows:
                break
            used, records = used + 1, records + len(batch)
        parts, dones, rest = (
            [batch for batch, _ in waiting[:used]],
            [done for _, done in waiting[:used]],
            waiting[used:],
        )
        if records > largest:
            last = parts.pop()
            offset = int(last.offsets[largest - records])
            parts.append(last.until(offset))
            rest.insert(0, (last.since(offset), dones.pop()))
        if rest:
            self._batches[topic] = rest
        elif topic in self._blocked:
            self._blocked.discard(topic)
            self._drained(topic)
        return TakenParts(parts, dones)

    def _first(self) -> Iterator[tuple[str, Batch]]:
        """The next batch of each topic that may have its turn."""
        return ((topic, waiting[0][0]) for topic, waiting in self._batches.items() if topic not in self._withheld)

    def _largest(self, topic: str) -> int:
        """Records of its largest batch: what is no record of a source costs ten times as much."""
        return self._hold_records if topic in self._core.definition.by_topic else max(1, self._hold_records // 10)

    def _count(self, topic: str) -> int:
        return sum(len(batch) for batch, _ in self._batches[topic])

    def _bytes(self, topic: str) -> int:
        return sum(batch.held_bytes for batch, _ in self._batches[topic])

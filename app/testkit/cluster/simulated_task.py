"""A worker's hold on one task: takes it over and folds its input as the Faust drive does, one broker call at a time.

`run` is a generator that stops after every call to the broker. Whoever drives it may go on, never come back (a
crash), or come back after another worker has taken the task over (a zombie).
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator

from app.base import names
from app.codecs.avro.schema import Schemas
from app.codecs.stored.advances import read_advance
from app.domain.advance import Advance
from app.domain.errors import StateError
from app.domain.marker import InputPosition
from app.domain.records import TopicPartition
from app.engine.core.advances import LogEnds
from app.engine.core.batch import Batch, Transaction
from app.engine.core.begun import begun_in, require_first, require_same
from app.engine.core.building import Stretch
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer
from app.engine.core.task import TaskCore
from app.engine.core.task_state import TaskState
from app.testkit.cluster.broker import Broker, SimulatedProducer
from app.testkit.cluster.last_markers import last_markers
from app.testkit.cluster.partition_log import PartitionLog, SentRecord
from app.testkit.cluster.sending import in_some_order

BATCH_SIZES = (1, 2, 3, 8, 100)
PATIENCE = 1000
"""Reads in a row that may find nothing before a log is called stuck."""

Calls = Generator[None, None, None]


class SimulatedTask:
    """Partition `partition` of the definition's topics.

    `draws` decides sizes and order; it may be set anew. `kept` is a state that this worker had before and that covers
    the changelog up to its marker. `core` is None until the task has been taken over. `is_idle`: at its last look
    nothing was to be done.
    """

    def __init__(
        self,
        broker: Broker,
        definition: TaskDefinition,
        partition: int,
        schemas: Schemas,
        draws: random.Random,
        kept: TaskState | None = None,
    ) -> None:
        self.broker, self.definition, self.partition = broker, definition, partition
        self.schemas, self.draws = schemas, draws
        self.sizes: tuple[int, ...] = BATCH_SIZES
        self.idle_advance_us: int | None = None
        self.core: TaskCore | None = None
        self.is_writing = False
        self.is_idle = False
        self._kept = kept
        self._producer: SimulatedProducer | None = None
        self._calls = self.run()

    def step(self) -> None:
        """Go on to the next call to the broker, and make it."""
        next(self._calls)

    def run(self) -> Iterator[None]:
        """The task's life. Raises ProducerFenced when it has lost the task, StateError when it must not go on."""
        producer = self.fence()
        yield
        state = yield from self._restored()
        self.core = TaskCore(self.definition, state)
        while True:
            transaction = yield from self._planned(self.core)
            if transaction is not None:
                yield from self._committed(self.core, transaction, producer)

    def fence(self) -> SimulatedProducer:
        """Shut out the task's former owner."""
        self._producer = self.broker.init_producer(self.transactional_id)
        return self._producer

    def write_in_place(self, transaction: Transaction) -> None:
        """As whoever mends a task that no worker holds."""
        producer = self.fence()
        for place, record in self._sent(transaction):
            producer.send(place, record)
        producer.commit()
        while self.broker.mark_one(self.transactional_id):
            pass

    @property
    def is_fenced(self) -> bool:
        """Whether another worker has taken the task over, known to this one or not."""
        return self._producer is not None and self._producer.is_fenced

    @property
    def transactional_id(self) -> str:
        return names.transactional_id(self.definition.application, self.definition.name, self.partition)

    @property
    def changelog(self) -> PartitionLog:
        return self.log(names.changelog_topic(self.definition.application, self.definition.name))

    @property
    def changelog_id(self) -> str:
        return self.broker.topic_id(self.changelog.topic)

    def log(self, topic: str) -> PartitionLog:
        """The task's partition of a topic."""
        return self.broker.log(topic, self.partition)

    def starts(self) -> dict[str, InputPosition]:
        """Where the inputs begin now."""
        starts = {topic: self.log(topic).start for topic in self.definition.topics}
        return {topic: InputPosition(self.broker.topic_id(topic), at, at) for topic, at in starts.items()}

    def _restored(self) -> Generator[None, None, TaskState]:
        restorer = Restorer(self.definition, self._kept)
        log = self.changelog
        at, end = max(restorer.marker_offset + 1, log.start), log.end
        yield
        patience = PATIENCE
        while at < end:
            batch = log.fetch(at, self._size(), until=end)
            if batch.next_offset == at:  # a transaction is open there: its owner has fenced this task
                patience -= 1
                if not patience:
                    raise StateError(f"{log.topic}-{self.partition}: read to {at}, but the log ends at {end}")
            restorer.read(batch)
            at = batch.next_offset
            yield
        if restorer.marker is not None:
            for topic, position in restorer.marker.inputs.items():
                if topic in self.definition.topics and self.log(topic).start > position.next_offset:
                    raise StateError(f"{topic}-{self.partition}: begins at {self.log(topic).start}, behind the state")
        require_same(self.definition, self.partition, restorer.marker, self._begun(), self.changelog_id)
        if restorer.marker is None:
            require_first(self.definition, last_markers(self.broker, self.definition).values())
        return restorer.finish(self.starts(), self.partition, self.changelog_id)

    def _begun(self) -> str:
        log = self.log(names.begun_topic(self.definition.application))
        return begun_in(self.definition, log.fetch(log.start, log.end)) or "" if log.end > log.start else ""

    def _planned(self, core: TaskCore) -> Generator[None, None, Transaction | None]:
        """What the core wants to do next: its own upkeep, something read again, or new input."""
        transaction = core.keep_up() if self.draws.random() < 0.5 else None
        if transaction is not None:
            return transaction
        stretch = core.to_build() if self._are_advances_settled() else None
        if stretch is not None and self.draws.random() < 0.7:
            batch = self._read_again(stretch)
            yield
            return core.build(batch, self._advances(stretch.topic), self.schemas)
        fetched = self._fetched(core)
        self.is_idle = not fetched and core.to_build() is None
        if fetched:
            reads = core.read(fetched, self.schemas)
            yield
            return core.plan(reads)
        yield
        transaction = core.keep_up() or self._advance_idle(core)
        self.is_idle = self.is_idle and transaction is None
        return transaction

    def _advance_idle(self, core: TaskCore) -> Transaction | None:
        """Raise the watermark of a topic that has ended, as a worker does after a time without input."""
        if self.idle_advance_us is None:
            return None
        watermark_us, self.idle_advance_us = self.idle_advance_us, None
        topic = self.draws.choice([topic.name for source in self.definition.sources for topic in source.topics])
        return core.advance(topic, watermark_us)

    def _read_again(self, stretch: Stretch) -> Batch:
        batch = self.log(stretch.topic).fetch(stretch.from_offset, self._size(), until=stretch.to_offset)
        if batch.next_offset == stretch.from_offset:
            raise StateError(f"{stretch.topic}-{self.partition}: cannot be read again from {stretch.from_offset}")
        return batch

    def _advances(self, topic: str) -> list[Advance]:
        """What was committed to the advances topic for this partition of an input topic."""
        written = self.broker.committed(names.advances_topic(self.definition.application))
        told = (read_advance(entry.record.value) for _, entry in written if entry.record is not None)
        return [a for a in filter(None, told) if (a.topic, a.partition) == (topic, self.partition)]

    def _are_advances_settled(self) -> bool:
        """Whether all that was done about watermarks can be read; another task's open transaction may hide some."""
        topic = names.advances_topic(self.definition.application)
        logs = [self.broker.log(topic, partition) for partition in range(self.broker.partitions)]
        return all(log.last_stable_offset == log.end for log in logs)

    def _fetched(self, core: TaskCore) -> list[Batch]:
        """What topics hold behind the state's positions: of one topic, or of some that may share a transaction."""
        topics = list(self.definition.topics)
        self.draws.shuffle(topics)
        fetched: list[Batch] = []
        for topic in topics:
            if fetched and topic not in self.definition.joint_topics:
                continue
            position = core.state.marker.inputs[topic].next_offset
            if self.log(topic).last_stable_offset > position:
                batch = self._read(self.log(topic), position)
                if core.wants_log_ends(batch):
                    core.log_ends = LogEnds(batch.next_offset, {t: self.log(t).end for t in core.definition.by_topic})
                if core.is_due(batch):
                    fetched.append(batch)
                    if topic not in self.definition.joint_topics or self.draws.random() < 0.5:
                        break
        return fetched

    def _read(self, log: PartitionLog, position: int) -> Batch:
        """One fetch or several that follow each other; the first may begin before the position."""
        batches = [log.fetch(max(log.start, position - self.draws.choice((0, 0, 0, 1, 4))), self._size())]
        stable = log.last_stable_offset
        while (at := batches[-1].next_offset) <= position or (at < stable and self.draws.random() < 0.2):
            batches.append(log.fetch(at, self._size()))
        return Batch.joined(batches)

    def _size(self) -> int:
        return self.draws.choice(self.sizes)

    def _sent(self, transaction: Transaction) -> Iterator[tuple[TopicPartition, SentRecord]]:
        place = TopicPartition(self.changelog.topic, self.partition)
        return in_some_order(transaction, place, self.broker.partitions, self.draws)

    def _committed(self, core: TaskCore, transaction: Transaction, producer: SimulatedProducer) -> Calls:
        """Write the transaction, and only then let the core know."""
        self.is_writing = True
        marker_offset = -1
        for place, record in self._sent(transaction):
            offset = producer.send(place, record)
            if place.topic == self.changelog.topic:
                marker_offset = offset  # the marker is the changelog's last
            yield
        producer.commit()
        yield
        core.commit(transaction, marker_offset)
        self.is_writing = False

"""A simulated Kafka cluster: topics, producers with and without transactions, fencing. One thread, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition
from app.testkit.cluster.partition_log import LogEntry, LogTransaction, PartitionLog, SentRecord, TransactionOutcome

TOPIC_ID = "simulated"
"""Of a topic that was never made anew."""


class ProducerFenced(FlagfallError):
    """Another producer has initialised the transactional id since."""


@dataclass
class _Coordinator:
    """What the transaction coordinator knows of a transactional id.

    `unmarked` are partitions that wait for the control record of `transaction`, which has been decided.
    """

    epoch: int = -1
    transaction: LogTransaction | None = None
    partitions: list[TopicPartition] = field(default_factory=list)
    unmarked: list[TopicPartition] = field(default_factory=list)


class SimulatedProducer:
    """One life of a transactional id, from its initialisation to its fencing. Every call may raise ProducerFenced."""

    def __init__(self, broker: Broker, transactional_id: str, epoch: int) -> None:
        self._broker, self.transactional_id, self.epoch = broker, transactional_id, epoch

    @property
    def is_fenced(self) -> bool:
        """Whether the next call will raise ProducerFenced."""
        return self._broker.epoch_of(self.transactional_id) != self.epoch

    def send(self, place: TopicPartition, record: SentRecord) -> int:
        """Append a record to the transaction under way, or begin one with it; gives its offset."""
        return self._broker.send(self, place, record)

    def commit(self) -> None:
        """Decide the transaction. As in Kafka the answer comes before the partitions' control records are written."""
        self._broker.decide(self, TransactionOutcome.COMMITTED)

    def abort(self) -> None:
        """Decide that nothing was sent."""
        self._broker.decide(self, TransactionOutcome.ABORTED)


class Broker:
    """The cluster. A topic is made when it is first used; all have the same number of partitions."""

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self._logs: dict[TopicPartition, PartitionLog] = {}
        self._lives: Counter[str] = Counter()
        self._coordinators: dict[str, _Coordinator] = {}

    @property
    def topics(self) -> set[str]:
        """Topics that were used."""
        return {place.topic for place in self._logs}

    def log(self, topic: str, partition: int) -> PartitionLog:
        """A partition's log; IndexError if the topics do not have so many."""
        if not 0 <= partition < self.partitions:
            raise IndexError(f"{topic}-{partition}: topics have {self.partitions} partitions")
        place = TopicPartition(topic, partition)
        if place not in self._logs:
            self._logs[place] = PartitionLog(topic, partition)
        return self._logs[place]

    def topic_id(self, topic: str) -> str:
        """The id of the topic as it is now."""
        return f"{TOPIC_ID}-{self._lives[topic]}" if self._lives[topic] else TOPIC_ID

    def create_anew(self, topic: str) -> None:
        """Delete a topic, and make it again under its name."""
        self._lives[topic] += 1
        self._logs = {place: log for place, log in self._logs.items() if place.topic != topic}

    def begin_at(self, topic: str, partition: int, offset: int) -> None:
        """Make a topic-partition whose log begins there."""
        self._logs[TopicPartition(topic, partition)] = PartitionLog(topic, partition, offset)

    def produce(self, place: TopicPartition, record: SentRecord) -> int:
        """Append a record outside transactions; gives its offset."""
        return self.log(*place).append(record)

    def init_producer(self, transactional_id: str) -> SimulatedProducer:
        """Fence the id's former producer: what it has decided is completed, what it left open is aborted."""
        held = self._coordinators.setdefault(transactional_id, _Coordinator())
        self._abort_open(held)
        held.epoch += 1
        return SimulatedProducer(self, transactional_id, held.epoch)

    def time_out(self, transactional_id: str) -> None:
        """Abort a transaction that has stayed open for too long; its producer is fenced by that."""
        held = self._coordinators.get(transactional_id)
        if held is not None and held.transaction is not None and not held.unmarked:
            self._abort_open(held)
            held.epoch += 1

    def mark_one(self, transactional_id: str) -> bool:
        """Write one of the control records that a decided transaction still owes; False if it owes none."""
        held = self._coordinators.get(transactional_id)
        if held is None or not held.unmarked:
            return False
        self._mark(held)
        return True

    def send(self, producer: SimulatedProducer, place: TopicPartition, record: SentRecord) -> int:
        held = self._admitted(producer)
        self._complete(held)  # a new transaction waits for the last one's control records
        if held.transaction is None:
            held.transaction = LogTransaction(producer.transactional_id)
        if place not in held.partitions:
            held.partitions.append(place)
        return self.log(*place).append(record, held.transaction)

    def decide(self, producer: SimulatedProducer, outcome: TransactionOutcome) -> None:
        held = self._admitted(producer)
        if held.transaction is not None and not held.unmarked:
            self._decide(held, outcome)

    def epoch_of(self, transactional_id: str) -> int:
        """The epoch that may write now."""
        return self._coordinators[transactional_id].epoch

    def committed(self, topic: str) -> Iterator[tuple[TopicPartition, LogEntry]]:
        """What read_committed consumers see of all partitions of a topic."""
        for partition in range(self.partitions):
            for entry in self.log(topic, partition).committed():
                yield TopicPartition(topic, partition), entry

    def _admitted(self, producer: SimulatedProducer) -> _Coordinator:
        held = self._coordinators[producer.transactional_id]
        if producer.epoch != held.epoch:
            raise ProducerFenced(
                f"{producer.transactional_id}: epoch {producer.epoch}, the present one is {held.epoch}"
            )
        return held

    def _abort_open(self, held: _Coordinator) -> None:
        if held.transaction is not None and not held.unmarked:
            self._decide(held, TransactionOutcome.ABORTED)
        self._complete(held)

    def _decide(self, held: _Coordinator, outcome: TransactionOutcome) -> None:
        assert held.transaction is not None
        held.transaction.outcome = outcome
        held.unmarked, held.partitions = held.partitions, []

    def _complete(self, held: _Coordinator) -> None:
        while held.unmarked:
            self._mark(held)

    def _mark(self, held: _Coordinator) -> None:
        assert held.transaction is not None
        place = held.unmarked.pop(0)
        self.log(*place).end_transaction(held.transaction)
        if not held.unmarked:
            held.transaction = None

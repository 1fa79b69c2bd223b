"""The simulated log behaves as Kafka does, where a task could tell the difference."""

from __future__ import annotations

import pytest

from app.domain.errors import StateError
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch
from app.testkit.cluster.broker import Broker, ProducerFenced, SimulatedProducer
from app.testkit.cluster.partition_log import PartitionLog, SentRecord

PLACE = TopicPartition("parcels", 0)
OUTPUT = TopicPartition("outputs", 0)


@pytest.fixture
def broker() -> Broker:
    return Broker(partitions=1)


@pytest.fixture
def log(broker: Broker) -> PartitionLog:
    return broker.log(*PLACE)


def sent(name: str, key: str | None = None) -> SentRecord:
    return SentRecord(None if key is None else key.encode(), name.encode(), (), 1)


def end(broker: Broker, producer: SimulatedProducer, *, commits: bool = True) -> None:
    (producer.commit if commits else producer.abort)()
    while broker.mark_one(producer.transactional_id):
        pass


def seen(batch: Batch) -> list[tuple[int, bytes | None]]:
    return list(zip(batch.offsets.tolist(), batch.values, strict=True))


def test_an_open_transaction_hides_all_that_follows(broker: Broker, log: PartitionLog) -> None:
    broker.produce(PLACE, sent("before"))
    producer = broker.init_producer("p")
    producer.send(PLACE, sent("inside"))
    broker.produce(PLACE, sent("behind"))
    assert seen(log.fetch(0, 10)) == [(0, b"before")]
    assert (log.last_stable_offset, log.end) == (1, 3)
    end(broker, producer)
    assert seen(log.fetch(0, 10)) == [(0, b"before"), (1, b"inside"), (2, b"behind")]


def test_a_control_record_takes_an_offset_and_is_passed_over(broker: Broker, log: PartitionLog) -> None:
    producer = broker.init_producer("p")
    producer.send(PLACE, sent("inside"))
    end(broker, producer)
    batch = log.fetch(0, 10)
    assert (seen(batch), batch.base_offset, batch.next_offset) == ([(0, b"inside")], 0, 2)


def test_an_aborted_transaction_is_passed_over(broker: Broker, log: PartitionLog) -> None:
    producer = broker.init_producer("p")
    producer.send(PLACE, sent("inside"))
    broker.produce(PLACE, sent("between"))
    end(broker, producer, commits=False)
    batch = log.fetch(0, 10)
    assert (seen(batch), batch.next_offset) == ([(1, b"between")], 3)


def test_a_commit_is_answered_before_its_records_can_be_read(broker: Broker, log: PartitionLog) -> None:
    producer = broker.init_producer("p")
    producer.send(PLACE, sent("changelog"))
    producer.send(OUTPUT, sent("output"))
    producer.commit()
    assert seen(log.fetch(0, 10)) == []
    assert broker.mark_one("p")
    assert seen(log.fetch(0, 10)) == [(0, b"changelog")]
    assert seen(broker.log(*OUTPUT).fetch(0, 10)) == []
    producer.send(PLACE, sent("next"))
    assert seen(broker.log(*OUTPUT).fetch(0, 10)) == [(0, b"output")]


def test_a_new_owner_aborts_what_is_open_and_fences_the_former(broker: Broker, log: PartitionLog) -> None:
    former = broker.init_producer("p")
    former.send(PLACE, sent("lost"))
    broker.init_producer("p")
    for call in (lambda: former.send(PLACE, sent("late")), former.commit, former.abort):
        with pytest.raises(ProducerFenced, match="p: epoch 0, the present one is 1"):
            call()
    assert seen(log.fetch(0, 10)) == []
    assert log.last_stable_offset == log.end == 2


def test_a_new_owner_completes_what_was_decided(broker: Broker, log: PartitionLog) -> None:
    former = broker.init_producer("p")
    former.send(PLACE, sent("kept"))
    former.commit()
    broker.init_producer("p")
    assert seen(log.fetch(0, 10)) == [(0, b"kept")]


def test_a_transaction_that_times_out_is_aborted_and_its_producer_fenced(broker: Broker, log: PartitionLog) -> None:
    producer = broker.init_producer("p")
    producer.send(PLACE, sent("lost"))
    broker.time_out("p")
    assert seen(log.fetch(0, 10)) == []
    with pytest.raises(ProducerFenced):
        producer.commit()


def test_compaction_keeps_the_last_of_each_key_at_its_offset(broker: Broker, log: PartitionLog) -> None:
    for name, key in (("old", "a"), ("other", "b"), ("new", "a")):
        broker.produce(PLACE, sent(name, key))
    log.compact(log.end)
    batch = log.fetch(0, 10)
    assert (seen(batch), batch.base_offset, batch.next_offset) == ([(1, b"other"), (2, b"new")], 0, 3)


def test_compaction_leaves_what_is_not_committed_or_not_asked_for(broker: Broker, log: PartitionLog) -> None:
    for name in ("one", "two", "three"):
        broker.produce(PLACE, sent(name, "a"))
    log.compact(2)
    assert seen(log.fetch(0, 10)) == [(1, b"two"), (2, b"three")]
    producer = broker.init_producer("p")
    producer.send(PLACE, sent("four", "a"))
    log.compact(log.end)
    end(broker, producer, commits=False)
    assert seen(log.fetch(0, 10)) == [(2, b"three")]


def test_a_tombstone_stays_until_it_is_old(broker: Broker, log: PartitionLog) -> None:
    broker.produce(PLACE, sent("value", "a"))
    broker.produce(PLACE, SentRecord(b"a", None))
    log.compact(log.end)
    assert seen(log.fetch(0, 10)) == [(1, None)]
    log.compact(log.end, tombstones=True)
    batch = log.fetch(0, 10)
    assert (seen(batch), batch.next_offset) == ([], 2)


def test_records_that_were_deleted_cannot_be_asked_for(broker: Broker, log: PartitionLog) -> None:
    for name in ("one", "two"):
        broker.produce(PLACE, sent(name))
    log.delete_below(1)
    assert seen(log.fetch(1, 10)) == [(1, b"two")]
    with pytest.raises(StateError, match="parcels-0: offset 0 is gone, the log begins at 1"):
        log.fetch(0, 10)


def test_a_fetch_ends_at_its_size_and_goes_on_there(broker: Broker, log: PartitionLog) -> None:
    for name in ("one", "two", "three"):
        broker.produce(PLACE, sent(name))
    batch = log.fetch(0, 2)
    assert (len(batch), batch.next_offset) == (2, 2)
    assert seen(Batch.joined([batch, log.fetch(2, 2)])) == [(0, b"one"), (1, b"two"), (2, b"three")]

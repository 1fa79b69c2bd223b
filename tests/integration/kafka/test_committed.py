"""Reading the committed records of a log on a real broker."""

from __future__ import annotations

import threading

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer

from app.base import names
from app.base.kafka.clients import aiokafka_options, librdkafka_options
from app.base.kafka.committed import LogRefused, committed
from app.base.settings import Settings
from app.codecs.batches.inflating import NONE
from tests.support.machine.asking import flush
from tests.support.material.raw_batches import GOOD, ODD


def test_a_log_that_is_always_written_to_has_an_end(world: Settings) -> None:
    """It is where the log ended when the reading began."""
    topic, over = names.late_topic(world.app_id), threading.Event()
    producer = Producer({**librdkafka_options(world.kafka), "linger.ms": 0})
    written = 0

    def write(count: int) -> None:
        nonlocal written
        for _ in range(count):
            producer.produce(topic, str(written), partition=0)
            producer.flush()
            written += 1

    def write_on() -> None:
        while not over.is_set():
            write(1)

    write(200)
    writing = threading.Thread(target=write_on)
    writing.start()
    try:
        values = [int(message.value() or b"") for message in committed(librdkafka_options(world.kafka), topic, 0)]
        at_most = written + 1
    finally:
        over.set()
        writing.join()
    assert values == list(range(len(values)))
    assert 200 <= len(values) <= at_most


def test_records_of_open_and_aborted_transactions_are_not_given(world: Settings) -> None:
    """Nor is the end missed that a transaction's mark makes: the last offset is no record."""
    topic = names.late_topic(world.app_id)
    client = librdkafka_options(world.kafka)
    producer = Producer({**client, "transactional.id": f"{world.app_id}-writer"})
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        producer.produce(topic, end.__name__, partition=0)
        end()
    producer.begin_transaction()
    producer.produce(topic, "open", partition=0)
    flush(producer)
    values = [message.value() for message in committed(client, topic, 0)]
    assert values == [b"commit_transaction"] * 2
    assert [message.value() for message in committed(client, topic, 0, 1)] == values[1:]
    assert list(committed(client, topic, 1)) == []


async def test_a_record_that_stands_before_the_one_in_front_of_it_is_passed_over(world: Settings) -> None:
    topic = names.late_topic(world.app_id)
    async with AIOKafkaProducer(**aiokafka_options(world.kafka)) as producer:
        for batch in (ODD["three at one offset"], ODD["falling offsets"], GOOD[NONE]):
            await (await producer.send_batch(batch, topic, partition=0))
    found = {m.offset(): m.value() for m in committed(librdkafka_options(world.kafka), topic, 0)}
    assert found == {0: b"0", 5: b"0", 6: b"v"}


def test_a_topic_that_is_not_there_is_refused_in_words(world: Settings) -> None:
    with pytest.raises(LogRefused, match=r"no-such-topic-0: .*nknown"):
        list(committed(librdkafka_options(world.kafka), "no-such-topic", 0))

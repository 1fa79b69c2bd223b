"""Record batches that no client of Kafka's writes, and brokers take: Spark has the records that workers have."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

from app.base.kafka.clients import aiokafka_options, java_options, librdkafka_options
from app.base.settings import Settings
from app.codecs.batches.inflating import NONE
from app.domain.records import Place
from spark_batch.errors import Invalid
from spark_batch.source.around import read_around, telling_of_more
from spark_batch.source.kafka_range import read_spans
from spark_batch.stored.cut import Span
from tests.support.machine.waiting import patient
from tests.support.material.raw_batches import GOOD, ODD

TOPIC = "odd-for-spark"


def test_spark_reads_what_a_worker_reads_and_goes_around_the_rest(services: Settings, spark: SparkSession) -> None:
    admin = AdminClient(librdkafka_options(services.kafka))
    admin.create_topics([NewTopic(TOPIC, 1, 1, config={"retention.ms": "-1"})])[TOPIC].result(patient(10))
    reads, unread, end = asyncio.run(_fill(services))
    around = [Place(TOPIC, 0, offset) for offset in sorted(unread)]
    read = partial(read_spans, spark, java_options(services.kafka))
    rows = read_around(spark, read, [Span(TOPIC, 0, 0, end)], around).collect()
    found = {row["offset"]: None if row["value"] is None else bytes(row["value"]) for row in rows}
    assert found == reads | dict.fromkeys(unread)
    assert len(rows) == len(found)
    with pytest.raises(Invalid, match=rf"^{TOPIC}-0: Kafka's Java client cannot read"), telling_of_more():
        read_around(spark, read, [Span(TOPIC, 0, 0, end)], []).collect()


async def _fill(services: Settings) -> tuple[dict[int, bytes | None], set[int], int]:
    """What Java reads by offset, what it cannot, and where the topic ends; a good one stands behind each odd one."""
    reads, unread, end = dict[int, bytes | None](), set[int](), 0
    async with AIOKafkaProducer(**aiokafka_options(services.kafka)) as producer:
        for batch in (one for odd in ODD.values() for one in (odd, GOOD[NONE])):
            sent = await (await producer.send_batch(batch, TOPIC, partition=0))
            end = sent.offset + batch.count
            reads |= {sent.offset + delta: value for delta, value in (batch.reads or {}).items()}
            unread |= set() if batch.reads else {*range(sent.offset, end)}
    return reads, unread, end

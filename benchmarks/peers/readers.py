"""The floor: read every record and drop it, with aiokafka or confluent-kafka.

python benchmarks/peers/readers.py JOB.json
"""

from __future__ import annotations

import sys

import uvloop
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, TopicPartition
from fold import Job, signal

AT_ONCE = 10_000
FETCH_BYTES = 1 << 20


async def read_with_aiokafka(job: Job) -> None:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=job.bootstrap_server,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_min_bytes=100_000,
        fetch_max_wait_ms=30,
    )
    consumer.assign([AioPartition(job.topic, partition) for partition in job.ends])
    await consumer.start()
    try:
        left = job.rides
        while left:
            fetched = await consumer.getmany(timeout_ms=1_000)
            if fetched and left == job.rides:
                signal("first_record")
            left -= sum(map(len, fetched.values()))
        signal("last_commit")
    finally:
        await consumer.stop()


def read_with_confluent(job: Job) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": job.bootstrap_server,
            "group.id": job.name,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "fetch.message.max.bytes": FETCH_BYTES,
            "fetch.min.bytes": 100_000,
            "fetch.wait.max.ms": 30,
            "queued.min.messages": 200_000,
        }
    )
    consumer.assign([TopicPartition(job.topic, partition, 0) for partition in job.ends])
    left = job.rides
    while left:
        messages = consumer.consume(AT_ONCE, timeout=1.0)
        if messages and left == job.rides:
            signal("first_record")
        for message in messages:
            if message.error() is not None:
                raise SystemExit(message.error().str())
        left -= len(messages)
    signal("last_commit")
    consumer.close()


if __name__ == "__main__":
    told = Job.read(sys.argv[1])
    if told.variant["client"] == "aiokafka":
        uvloop.run(read_with_aiokafka(told))
    else:
        read_with_confluent(told)

"""Kafka timestamps that Spark's reader cannot hold: whatever a record is stamped, it is read and judged."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from app.base.files.verdicts import Verdict
from app.base.settings import Settings
from app.domain.records import Record, TopicPartition
from tests.support.machine.cluster import alter_topic
from tests.support.material.histories import encode
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.transactions import new_producer, transaction
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import KEY, framed, write_random_rides
from tests.support.reconciled import SEED, check

LONG_BEFORE_MS, LONG_AFTER_MS = -9_223_372_036_854_775, (1 << 63) - 1
"""The first is within what has microseconds, but not by the calendar of so long ago."""
OTHERS = 20


def test_records_of_any_timestamp_are_read(services: Settings, spark: SparkSession, tmp_path: Path) -> None:
    with new_world(services, topics=1) as world:
        _take_any_timestamp(world)
        write_random_rides(world, SEED, OTHERS)
        _send_again(world, LONG_BEFORE_MS, -(1 << 62), LONG_AFTER_MS)
        write_random_rides(world, SEED + 1, OTHERS)
        fold_tasks(world)
        found = check(world, spark, tmp_path)
        assert (found.report.reason, found.report.verdict) == (None, Verdict.MATCH)
        assert found.document["records"] == len(world.records) + len(world.poisoned)


def _take_any_timestamp(world: World) -> None:
    """As brokers before 4.0 did."""
    any_time = {"message.timestamp.after.max.ms": (1 << 63) - 1}
    alter_topic(world.settings, world.source.topics[0].name, any_time)


def _send_again(world: World, *stamps_ms: int) -> None:
    """A ride in the middle of what is written, under each timestamp: of no use below zero."""
    at, values = TopicPartition(world.source.topics[0].name, 1), world.records[0].values
    for stamp_ms in stamps_ms:
        offsets, producer = list[int](), new_producer(world)
        with transaction(producer):
            producer.produce(
                at.topic,
                framed(world, encode(dict(values))),
                KEY,
                at.partition,
                timestamp=stamp_ms,
                on_delivery=lambda _, message, offsets=offsets: offsets.append(message.offset()),
            )
        if stamp_ms < 0:
            world.poisoned.append(at)
        else:
            world.records.append(Record(*at, *offsets, stamp_ms, values))

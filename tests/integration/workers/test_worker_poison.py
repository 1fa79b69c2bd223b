"""Records that cannot be used, and those that come too late: set aside once, while the stream goes on."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import cramjam
import polars as pl
from aiokafka import AIOKafkaProducer

from app.base import names
from app.base.kafka.clients import aiokafka_options
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.codecs.batches.carrying import KEPT_BYTES, original_of
from app.codecs.batches.inflating import ZSTD
from app.codecs.batches.origin_headers import OFFSET, PARTITION, REASON, TIMESTAMP_MS, TOPIC, VIEWS
from app.codecs.batches.record_headers import MOST_HEADERS
from app.definitions.registered import register_schemas
from app.domain.oracle.view_fold import fold
from app.domain.records import TOO_MANY_HEADERS, UNREADABLE_BATCH, Place, Reason
from app.edge.late.originals import Originals
from app.edge.late.refused import RefusedLog, Selection
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDE_COLUMNS, RIDES, avro_schema
from app.rides.views import VIEWS as DECLARED
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import (
    assert_exact,
    committed_offsets,
    count_of,
    covers,
    delete_records,
    messages,
    ready_worker,
    worker,
)
from tests.support.material.raw_batches import ODD, RawBatch, number, record
from tests.support.material.schemas.foreign import FOREIGN, foreign_ids
from tests.support.truth import log_ends, read, records_of

UNKNOWN_ID = 987_654
DAY_MS = 86_400_000
ZEROS = bytes(4_000_000)
"""What a broker takes where it is compressed."""
JUNK = b"\x01" + random.Random(1).randbytes(1_048_400)
"""What a broker just takes, but not with a header more."""
DAMAGE = {
    "null": Reason.NULL_VALUE,
    "null without key": Reason.NULL_VALUE,
    "empty": Reason.TOO_SHORT,
    "header only": Reason.TOO_SHORT,
    "magic": Reason.BAD_MAGIC,
    "its id in a header": Reason.BAD_MAGIC,
    "forged length": Reason.UNDECODABLE,
    "schema": Reason.UNKNOWN_SCHEMA,
    "truncated": Reason.UNDECODABLE,
    "trailing": Reason.TRAILING_BYTES,
    "zone": f"{Reason.OUT_OF_BOUNDS}:pickup_zone",
    "early": f"{Reason.OUT_OF_BOUNDS}:pickup_at_us",
    "no time": Reason.NO_TIMESTAMP,
    "skewed": Reason.SKEWED,
    "no id that can be": Reason.UNKNOWN_SCHEMA,
    "zeros": Reason.UNKNOWN_SCHEMA,
    "junk": Reason.BAD_MAGIC,
    **dict.fromkeys(FOREIGN, Reason.INCOMPATIBLE_SCHEMA),
}


def test_each_damage_is_quarantined_once_and_late_rides_set_aside_once_though_the_worker_is_killed(
    world: Settings, tmp_path: Path
) -> None:
    write_rides(world, 0, 6_000)
    planted = asyncio.run(_plant(world))
    write_rides(world, 6_000, 6_000, dirt=Dirt(late=0.02))
    planted |= asyncio.run(_plant(world))
    small = {"FLAGFALL_WORKER_HOLD_RECORDS": 50}
    with worker(world, tmp_path, "killed", **small) as victim:
        wait_for(lambda: _refused(world, victim) > 0, "the first records are set aside", [victim])
        victim.kill()
    assert not _all_covered(world)
    with ready_worker(world, tmp_path, "second", **small) as second:
        wait_for(lambda: covers(world, second), "every ride is covered", [second])
        assert_exact(world, [second])

    records = records_of(world, RIDES)
    refused = {Place(r.topic, r.partition, r.offset): r.reason for r in fold(DECLARED[0], records).quarantined}
    quarantined = messages(world, names.quarantine_topic(world.app_id))
    told = {_origin(m): _header(m, REASON).decode() for m in quarantined}
    assert set(planted.values()) <= set(DAMAGE.values())
    assert told == refused | {place: str(reason) for place, reason in planted.items()}
    assert len(quarantined) == len(told)
    assert Counter(planted.values()) == Counter([*DAMAGE.values()] * 2)

    late: dict[Place, list[str]] = {}
    for view in DECLARED:
        for r in fold(view, records).late:
            late.setdefault(Place(r.topic, r.partition, r.offset), []).append(view.name)
    set_aside = messages(world, names.late_topic(world.app_id))
    assert late
    assert {_origin(m): _header(m, VIEWS).decode().split(",") for m in set_aside} == late
    assert len(set_aside) == len(late)

    originals = {
        Place(t.name, p, m.offset()): m
        for t in RIDES.topics
        for p in range(world.topics.partitions)
        for m in read(world, t.name, p)
    }
    for message in [*quarantined, *set_aside]:
        original = originals[_origin(message)]
        assert message.key() == original.key()
        assert message.headers()[: len(original.headers() or [])] == (original.headers() or [])
        shortened = original_of(tuple(message.headers()))
        assert (shortened is not None) == (original.value() in (ZEROS, JUNK))
        assert message.value() == (original.value() if shortened is None else original.value()[:KEPT_BYTES])
        assert shortened is None or shortened.is_of(original.value())
        assert int(_header(message, TIMESTAMP_MS)) == original.timestamp()[1]

    shortened = [one for one in RefusedLog(world).selected(Selection(), lambda _: None) if one.original is not None]
    whole = Originals(world.kafka)
    assert Counter(whole(one).value for one in shortened) == {ZEROS: 2, JUNK: 2}
    delete_records(world, log_ends(world, RIDES))
    assert [whole(one) for one in shortened] == shortened


def test_a_record_batch_that_nobody_can_read_stops_no_worker(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 600)
    planted = asyncio.run(_plant_batches(world))
    write_rides(world, 600, 600)
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        assert running.stop() == 0
    quarantined = messages(world, names.quarantine_topic(world.app_id))
    assert {_origin(m): _header(m, REASON).decode() for m in quarantined} == planted
    assert len(quarantined) == len(planted)


async def _plant_batches(world: Settings) -> dict[Place, str]:
    """One that is not what it says, one of a record of too many headers, and one of three records at one offset."""
    topic, planted = RIDES.topics[0].name, dict[Place, str]()
    empty = (MOST_HEADERS + 1) * (number(0) + number(-1))
    many = RawBatch(ZSTD, bytes(cramjam.zstd.compress(record(headers=number(MOST_HEADERS + 1) + empty))))
    async with AIOKafkaProducer(**aiokafka_options(world.kafka)) as producer:
        for batch, count, reason in (
            (ODD["a record that is shorter than it says"], 3, UNREADABLE_BATCH),
            (many, 1, TOO_MANY_HEADERS),
            (ODD["three at one offset"], 1, Reason.TOO_SHORT),
        ):
            sent = await (await producer.send_batch(batch, topic, partition=0))
            planted |= {Place(topic, 0, sent.offset + at): str(reason) for at in range(count)}
    return planted


async def _plant(world: Settings) -> dict[Place, str]:
    """One record of each damage, with headers of its own, in changing topics and partitions."""
    ride = Generator(seed=1, dirt=Dirt.none()).rides(50, 1)
    clock_ms = int(ride["clock_ms"][0])
    good = _encoded(world, ride)
    damaged: dict[str, tuple[bytes | None, int]] = {
        "null": (None, clock_ms),
        "null without key": (None, clock_ms),
        "empty": (b"", clock_ms),
        "header only": (good[:5], clock_ms),
        "magic": (b"\x01" + good[1:], clock_ms),
        "its id in a header": (good[5:], clock_ms),
        "forged length": (good[:5] + b"\xff" * 4 + b"\x0f" + good[6:], clock_ms),
        "schema": (_naming(UNKNOWN_ID, good), clock_ms),
        "truncated": (good[:-3], clock_ms),
        "trailing": (good + b"xx", clock_ms),
        "zone": (_encoded(world, ride.with_columns(pickup_zone=pl.lit(9_999, pl.Int64))), clock_ms),
        "early": (_encoded(world, ride.with_columns(pickup_at_us=pl.lit(1, pl.Int64))), clock_ms),
        "no time": (good, -1),
        "skewed": (good, clock_ms - DAY_MS),
        "no id that can be": (_naming(0xFFFFFFFF, good), clock_ms),
        "zeros": (ZEROS, clock_ms),
        "junk": (JUNK, clock_ms),
        **{kind: (_naming(schema_id, good), clock_ms) for kind, schema_id in foreign_ids(world).items()},
    }
    assert damaged.keys() == DAMAGE.keys()
    places = {}
    async with AIOKafkaProducer(**aiokafka_options(world.kafka), compression_type="zstd") as producer:
        for i, (kind, (value, timestamp_ms)) in enumerate(damaged.items()):
            batch = producer.create_batch()  # unlike `send` it takes a record without key and value
            key = b"key" if kind == "null" or i % 2 == 0 else None
            headers = [("kind", kind.encode()), (TOPIC, b"\xff"), ("__value_schema_id", good[:5])]
            batch.append(timestamp=timestamp_ms, key=key, value=value, headers=headers)
            topic = RIDES.topics[i % len(RIDES.topics)].name
            sent = await (await producer.send_batch(batch, topic, partition=i % world.topics.partitions))
            places[Place(sent.topic, sent.partition, sent.offset)] = DAMAGE[kind]
        elsewhere = {"key": b"999", "value": good, "timestamp_ms": clock_ms}  # no key says what a ride is
        await producer.send_and_wait(RIDES.topics[0].name, **elsewhere)
    return places


def _naming(schema_id: int, value: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + value[5:]


def _encoded(world: Settings, ride: pl.DataFrame) -> bytes:
    schema_id = register_schemas(world, (RIDES,))["rides.yellow"]
    (value,) = encode_frame(ride.select(c.name for c in RIDE_COLUMNS), avro_schema(), schema_id)
    return bytes(value)


def _refused(world: Settings, started: Worker) -> int:
    assert started.process.poll() is None, started.log.read_text()
    return count_of(world, names.quarantine_topic(world.app_id))


def _all_covered(world: Settings) -> bool:
    done = committed_offsets(world)  # the log's own would be waited for until the dead worker's transaction is over
    return all(done.get(place, 0) >= end for place, end in log_ends(world, RIDES).items())


def _origin(message: object) -> Place:
    return Place(_header(message, TOPIC).decode(), int(_header(message, PARTITION)), int(_header(message, OFFSET)))


def _header(message: object, name: str) -> bytes:
    """The last of that name."""
    return [v for n, v in message.headers() if n == name][-1]  # type: ignore[attr-defined,no-any-return]

"""`drain` and `next_fetch` against stock aiokafka, on a real topic with all that a log can hold."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from app.base.kafka.clients import aiokafka_options, librdkafka_options
from app.base.settings import Settings
from app.codecs.batches import inflating
from app.domain.records import UNREADABLE_BATCH
from app.engine.core.batch import Batch
from app.engine.drive.kafka import kept_batches
from app.engine.drive.kafka.fetch import drain, next_fetch
from tests.support.machine.asking import results
from tests.support.material.raw_batches import BROKEN, ODD

PARTITIONS = 3
ISOLATION = ("read_committed", "read_uncommitted")
KEPT = {"retention.ms": "-1"}
"""Of topics whose records are old."""
_numbers = itertools.count(1)


class Seen(NamedTuple):
    """One record, as either way of reading shows it."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


@pytest.fixture(scope="module", params=["CreateTime", "LogAppendTime"])
def topic(services: Settings, request: pytest.FixtureRequest) -> str:
    """Committed and aborted transactions, compressed and plain batches, nulls, headers; control records at the end."""
    name = f"fetch-{next(_numbers)}"
    admin = AdminClient(librdkafka_options(services.kafka))
    new = NewTopic(name, PARTITIONS, 1, config={"message.timestamp.type": request.param, **KEPT})
    results(admin.create_topics([new]).values(), "the topic is made")
    asyncio.run(_fill(services, name))
    return name


async def _fill(services: Settings, topic: str) -> None:
    number = itertools.count()
    for codec in ("lz4", "zstd", "gzip", None):
        for transaction in (True, False, True, None):
            await _write(services, topic, number, codec, transaction=transaction)
    await _write(services, topic, number, "zstd", transaction=True)
    await _write(services, topic, number, None, transaction=False)


async def _write(
    services: Settings, topic: str, number: Any, codec: str | None, *, transaction: bool | None, count: int = 60
) -> None:
    producer = AIOKafkaProducer(
        **aiokafka_options(services.kafka),
        compression_type=codec,
        max_batch_size=2_000,
        transactional_id=None if transaction is None else f"{topic}-{next(number)}",
    )
    async with producer:
        if transaction is not None:
            await producer.begin_transaction()
        for i in itertools.islice(number, count):
            await producer.send(
                topic,
                None if i % 7 == 0 else b"v%d" % i * (i % 40),
                None if i % 5 == 0 and i % 7 else b"k%d" % i,
                partition=i % PARTITIONS,
                timestamp_ms=1_262_304_000_000 + 977 * i,
                headers=[("h", b"%d" % i), ("h", b"")] if i % 3 == 0 else None,
            )
        await producer.flush()
        if transaction is not None:
            await (producer.commit_transaction() if transaction else producer.abort_transaction())


@pytest.fixture
async def consumer(services: Settings, topic: str, request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    isolation, fetch_bytes = request.param
    one = AIOKafkaConsumer(
        **aiokafka_options(services.kafka),
        isolation_level=isolation,
        max_partition_fetch_bytes=fetch_bytes,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    async with one:
        one.assign([TopicPartition(topic, p) for p in range(PARTITIONS)])
        yield one


reading = pytest.mark.parametrize(
    "consumer", list(itertools.product(ISOLATION, (3_000, 1_000_000))), indirect=True, ids=lambda p: f"{p[0]}-{p[1]}"
)


@reading
@pytest.mark.parametrize("way", ["drain", "next_fetch"])
async def test_records_are_those_that_stock_aiokafka_gives(consumer: Any, way: str) -> None:
    places = sorted(consumer.assignment())
    ends = await consumer.end_offsets(places)
    stock = await _stock(consumer, ends)
    assert {tp: await consumer.position(tp) for tp in places} == ends
    await consumer.seek_to_beginning(*places)
    batches = await (_drained if way == "drain" else _fetched)(consumer, ends)
    assert {tp: await consumer.position(tp) for tp in places} == ends
    assert {tp: _rows(batches[tp]) for tp in places} == stock
    for tp in places:
        assert stock[tp]
        covered = [(b.base_offset, b.next_offset) for b in batches[tp]]
        assert covered[0][0] == 0
        assert covered[-1][1] == ends[tp]
        assert all(left[1] == right[0] for left, right in itertools.pairwise(covered))


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
async def test_a_batch_that_the_broker_takes_and_that_is_too_large_uncompressed_is_passed_unread(
    services: Settings, monkeypatch: pytest.MonkeyPatch, codec: str
) -> None:
    """The broker bounds what is compressed."""
    for module in (inflating, kept_batches):
        monkeypatch.setattr(module, "MAX_BYTES", 2_000_000)
    place, options = TopicPartition(f"bomb-{next(_numbers)}", 0), aiokafka_options(services.kafka)
    admin = AdminClient(librdkafka_options(services.kafka))
    results(admin.create_topics([NewTopic(place.topic, 1, 1, config=KEPT)]).values(), "the topic is made")
    async with AIOKafkaProducer(**options, compression_type=codec, max_batch_size=5_000_000) as producer:
        for values in ([b"before"], [bytes(1_500_000), bytes(1_500_000)], [b"behind"]):
            batch = producer.create_batch()
            for value in values:
                assert batch.append(key=b"k", value=value, timestamp=1_262_304_000_000)
            await (await producer.send_batch(batch, place.topic, partition=0))
    async with AIOKafkaConsumer(**options, enable_auto_commit=False, auto_offset_reset="earliest") as consumer:
        consumer.assign([place])
        batches = (await _drained(consumer, {place: 4}))[place]
    whole = Batch.joined(batches)
    assert (whole.offsets.tolist(), list(whole.unread)) == ([0, 1, 2, 3], [1, 2])
    assert [*whole.values] == [b"before", None, None, b"behind"]


async def test_of_what_the_broker_takes_all_is_read_that_java_reads_and_the_rest_is_refused(services: Settings) -> None:
    place, options = TopicPartition(f"odd-{next(_numbers)}", 0), aiokafka_options(services.kafka)
    admin = AdminClient(librdkafka_options(services.kafka))
    results(admin.create_topics([NewTopic(place.topic, 1, 1, config=KEPT)]).values(), "the topic is made")
    reads, unread, end = dict[int, bytes | None](), set[int](), 0
    async with AIOKafkaProducer(**options) as producer:
        for batch in ODD.values():
            sent = await (await producer.send_batch(batch, place.topic, partition=0))
            end = sent.offset + batch.count
            reads |= {sent.offset + delta: value for delta, value in (batch.reads or {}).items()}
            unread |= set() if batch.reads else {*range(sent.offset, end)}
        for refused in BROKEN.values():
            with pytest.raises(KafkaError):
                await (await producer.send_batch(refused, place.topic, partition=0))
    async with AIOKafkaConsumer(**options, enable_auto_commit=False, auto_offset_reset="earliest") as consumer:
        consumer.assign([place])
        whole = Batch.joined((await _drained(consumer, {place: end}))[place])
    found = dict(zip(whole.offsets.tolist(), whole.values, strict=True))
    assert found == reads | dict.fromkeys(unread)
    assert whole.unread == dict.fromkeys(unread, UNREADABLE_BATCH)


@reading
async def test_drain_goes_on_in_the_middle_of_a_record_batch(consumer: Any) -> None:
    places = sorted(consumer.assignment())
    ends = await consumer.end_offsets(places)
    for tp in places:
        for start in range(17, ends[tp], max(ends[tp] // 3, 1)):
            consumer.seek(tp, start)
            batches = (await _drained(consumer, {tp: ends[tp]}))[tp]
            assert batches[0].base_offset == start
            assert all(row.offset >= start for row in _rows(batches))
            consumer.seek(tp, start)
            assert _rows(batches) == (await _stock(consumer, {tp: ends[tp]}))[tp]


@pytest.mark.parametrize("consumer", [("read_committed", 1_000_000)], indirect=True)
async def test_partitions_that_are_not_asked_for_keep_their_records(consumer: Any) -> None:
    places = sorted(consumer.assignment())
    ends = await consumer.end_offsets(places)
    wanted = {places[0]: ends[places[0]]}
    with consumer._fetcher._subscriptions.fetch_context():
        while await consumer.position(places[0]) < ends[places[0]]:
            drained = await drain(consumer._fetcher, [places[0]], timeout=0.2)
            assert set(drained) <= set(wanted)
    assert [await consumer.position(tp) for tp in places[1:]] == [0] * (PARTITIONS - 1)
    rest = await _drained(consumer, {tp: ends[tp] for tp in places[1:]})
    assert all(rest[tp][0].base_offset == 0 for tp in places[1:])


@pytest.mark.parametrize("consumer", [("read_committed", 1_000_000)], indirect=True)
async def test_waiting_ends_in_time_where_nothing_comes(consumer: Any) -> None:
    places = sorted(consumer.assignment())
    await consumer.seek_to_end(*places)
    assert await asyncio.wait_for(drain(consumer._fetcher, None, timeout=0.05), 5) == {}


async def _stock(consumer: Any, ends: dict[TopicPartition, int]) -> dict[TopicPartition, list[Seen]]:
    seen: dict[TopicPartition, list[Seen]] = {tp: [] for tp in ends}
    while [tp for tp in ends if await consumer.position(tp) < ends[tp]]:
        for tp, records in (await consumer.getmany(*ends, timeout_ms=200)).items():
            seen[tp] += [Seen(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in records]
    return seen


async def _drained(consumer: Any, ends: dict[TopicPartition, int]) -> dict[TopicPartition, list[Batch]]:
    batches: dict[TopicPartition, list[Batch]] = {tp: [] for tp in ends}
    while [tp for tp in ends if await consumer.position(tp) < ends[tp]]:
        with consumer._fetcher._subscriptions.fetch_context():
            for tp, new in (await drain(consumer._fetcher, list(ends), timeout=0.2)).items():
                batches[tp] += new
    return batches


async def _fetched(consumer: Any, ends: dict[TopicPartition, int]) -> dict[TopicPartition, list[Batch]]:
    batches: dict[TopicPartition, list[Batch]] = {tp: [] for tp in ends}
    while [tp for tp in ends if not batches[tp] or batches[tp][-1].next_offset < ends[tp]]:
        with consumer._fetcher._subscriptions.fetch_context():
            steps = await next_fetch(consumer._fetcher, timeout=0.2)
        for tp, new in steps:
            batches[tp].append(new)
            await asyncio.sleep(0)
    return batches


def _rows(batches: list[Batch]) -> list[Seen]:
    return [
        Seen(int(offset), int(timestamp), key, value, tuple(headers))
        for b in batches
        for offset, timestamp, key, value, headers in zip(
            np.asarray(b.offsets), np.asarray(b.timestamps_ms), b.keys, b.values, b.headers, strict=True
        )
    ]

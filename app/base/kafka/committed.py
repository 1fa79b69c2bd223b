"""The committed records of a topic-partition, as far as they go when the reading begins."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from app.base.kafka.cluster import ASK_AGAIN_SECONDS, UNUSED_GROUP, Cluster
from app.base.kafka.passing import passes
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition

READ_TIMEOUT_SECONDS = 30.0
FETCH_WAIT_MS = 10
"""That nothing is left is told after one fetch that found nothing."""
CHUNK = 5_000
OPEN_SECONDS = 75.0
"""Brokers abort a transaction that is open for a minute, unless its producer asked for longer; ours do not."""


class LogSilent(FlagfallError):
    """A log gave nothing before its end, for so long that its broker must be taken for gone. Try again."""


class LogRefused(FlagfallError):
    """The broker will not give the log's records; the text says why."""


def committed(
    client: Mapping[str, Any], topic: str, partition: int, start: int = OFFSET_BEGINNING
) -> Iterator[Message]:
    """Committed records from offset `start` to what is the last stable offset now; `client`: librdkafka's options.

    What is written meanwhile is not waited for: a log that is always written to would else never end. The last
    offset may be a control record, which no consumer is given: the end-of-partition event tells the end as well. A
    record that stands before the one in front of it is passed over, as by Java's client and our tasks.
    Raises LogSilent if nothing comes for half a minute, LogRefused for an error that does not pass.
    """
    settings = dict(client) | {
        "group.id": UNUSED_GROUP,
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "fetch.wait.max.ms": FETCH_WAIT_MS,
        "log_level": 0,  # what matters is raised
    }
    with closing(Consumer(settings)) as consumer:
        where, end, lowest = f"{topic}-{partition}", _end(consumer, topic, partition), 0
        consumer.assign([KafkaPartition(topic, partition, start)])
        while True:
            for message in _next(consumer, where):
                if _is_end(message, where, end):
                    return
                if message.offset() < lowest:
                    continue
                lowest = message.offset() + 1
                yield message
                if lowest >= end:
                    return


def await_decided(cluster: Cluster, places: Collection[TopicPartition]) -> None:
    """Wait until each transaction that has a record in these logs now has ended.

    One that is open hides what others have committed behind it. Raises ClusterError, LogSilent if one stays open for
    longer than brokers let it.
    """
    there = cluster.log_ends(places, committed=False)
    deadline = time.monotonic() + OPEN_SECONDS
    while open_in := [at for at, end in cluster.log_ends(places, committed=True).items() if end < there[at]]:
        if time.monotonic() > deadline:
            told = f"a transaction stays open there for more than {OPEN_SECONDS:.0f} s; find its producer, or wait"
            raise LogSilent(f"{open_in[0]}: {told}")
        time.sleep(ASK_AGAIN_SECONDS)


def _next(consumer: Consumer, where: str) -> list[Message]:
    """What comes next, without errors that pass: the client asks again by itself. LogSilent after half a minute."""
    deadline, why = time.monotonic() + READ_TIMEOUT_SECONDS, "nothing came"
    while (left_seconds := deadline - time.monotonic()) > 0:
        first = consumer.poll(left_seconds)
        came = [] if first is None else [first, *consumer.consume(CHUNK, timeout=0)]
        if given := [message for message in came if not _passes(message)]:
            return given
        why = came[-1].error().str() if came else why
    raise LogSilent(f"{where}: {why}, for {READ_TIMEOUT_SECONDS:.0f} s; run it again")


def _passes(message: Message) -> bool:
    error = message.error()
    return error is not None and passes(error)


def _end(consumer: Consumer, topic: str, partition: int) -> int:
    """The last stable offset: librdkafka asks for it as it reads, committed."""
    deadline = time.monotonic() + READ_TIMEOUT_SECONDS
    while True:
        try:
            ends = consumer.get_watermark_offsets(KafkaPartition(topic, partition), timeout=READ_TIMEOUT_SECONDS)
        except KafkaException as error:
            told = f"{topic}-{partition}: {error.args[0].str()}"
            if not passes(error.args[0]):
                raise LogRefused(told) from error
            if time.monotonic() > deadline:
                raise LogSilent(f"{told}, for {READ_TIMEOUT_SECONDS:.0f} s; run it again") from error
            time.sleep(ASK_AGAIN_SECONDS)
            continue
        if ends is None:
            told = f"its end is not told within {READ_TIMEOUT_SECONDS:.0f} s; run it again"
            raise LogSilent(f"{topic}-{partition}: {told}")
        return int(ends[1])


def _is_end(message: Message, where: str, end: int) -> bool:
    error = message.error()
    if error is None:
        return int(message.offset()) >= end
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    raise LogRefused(f"{where}: {error.str()}") from KafkaException(error)

"""A world of a test's own on the shared broker: its topics empty, its workers, what they did."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import AdminClient

from app.base import names
from app.base.kafka.administrator import told_by_each
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.committed import await_decided
from app.base.kafka.topic_admin import create_topics, topic_states
from app.base.settings import Settings
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import decode_marker
from app.definitions.registered import register_schemas
from app.domain.marker import LIVE, Marker
from app.domain.records import TopicPartition
from app.domain.source import Source
from app.domain.view import View
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VENDOR_TRIPS, VIEWS
from app.topics import finals_topics, topics
from tests.support.flow import by_task, exported, in_changelog
from tests.support.machine.asking import results
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import NotInTime, patient, wait_for
from tests.support.machine.workers import FLAGFALL, Worker, environment_of
from tests.support.truth import cluster_of, log_ends, read, records_of

BROKEN_IN_WORDS_SECONDS = 180


def own_world(settings: Settings) -> None:
    """Ride topics and finals without a record, the application's topics, schemas.

    The former are shared by all tests: their records are deleted, which is quicker than the topics, and lets logs
    begin above zero. What a former test's killed worker has left open there hides whatever comes behind it, until the
    broker ends it, and so is waited for.
    """
    put_back(settings)
    create_topics(settings.kafka, topics(settings))
    shared = [topic.name for topic in (*RIDES.topics, *finals_topics(settings, SHIPPED.finals))]
    await_decided(cluster_of(settings.kafka), places_of(settings, shared))
    delete_records(settings, log_ends_of(settings, shared))
    register_schemas(settings, (RIDES,))


def put_back(settings: Settings) -> None:
    """Topics that are not as declared are gone: the next test finds none of what this one widened or altered."""
    delete_topics(settings, [s.topic.name for s in topic_states(settings.kafka, topics(settings)) if s.differences])


def delete_topics(settings: Settings, wanted: Sequence[str]) -> None:
    """Gone when this returns, for each of the brokers."""
    admin = AdminClient(librdkafka_options(settings.kafka))
    if not wanted:
        return
    results(admin.delete_topics(list(wanted)).values(), "topics are deleted")
    wait_for(
        lambda: not any(set(told.topics) & set(wanted) for told in told_by_each(settings.kafka)), "topics are gone"
    )


def delete_records(settings: Settings, ends: dict[tuple[str, int], int]) -> None:
    """What lies below these offsets, by topic and partition."""
    admin = AdminClient(librdkafka_options(settings.kafka))
    below = [KafkaPartition(topic, partition, end) for (topic, partition), end in ends.items() if end]
    if below:
        results(admin.delete_records(below).values(), "records are deleted")


@contextlib.contextmanager
def worker(settings: Settings, folder: Path, name: str = "worker", **variables: object) -> Iterator[Worker]:
    """A worker process, not yet ready; killed at the end if it still runs. `variables` go to its environment."""
    started = Worker(settings, folder / f"{name}.log", {key: str(value) for key, value in variables.items()})
    try:
        yield started
    finally:
        started.send(9)
        started.process.wait()


@contextlib.contextmanager
def ready_worker(settings: Settings, folder: Path, name: str = "worker", **variables: object) -> Iterator[Worker]:
    """A worker that answers queries."""
    with worker(settings, folder, name, **variables) as started:
        wait_for(started.is_ready, "the worker answers", [started])
        yield started


@contextlib.contextmanager
def rides_under_way(settings: Settings, first: int, *, block: int = 100) -> Iterator[None]:
    """Generated rides written all the while, from that number on; no faster than the plain fold can bear."""
    stop = threading.Event()

    def write() -> None:
        at = first
        while not stop.wait(0.1):
            write_rides(settings, at, block)
            at += block

    writing = threading.Thread(target=write)
    writing.start()
    try:
        yield
    finally:
        stop.set()
        writing.join()


def ends_in_words(settings: Settings, **variables: object) -> subprocess.CompletedProcess[str]:
    """A worker that is expected to end by itself; its output, and its exit code. NotInTime if it does not end."""
    try:
        return subprocess.run(
            [FLAGFALL, "worker"],
            env=os.environ
            | environment_of(settings)
            | {"FLAGFALL_WORKER_HTTP_PORT": str(settings.worker.http_port)}
            | {key: str(value) for key, value in variables.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patient(BROKEN_IN_WORDS_SECONDS),
            check=False,
        )
    except subprocess.TimeoutExpired as waited:
        raise NotInTime(f"the worker has not ended; it said {(waited.stdout or b'')[-3000:]!r}") from None


def position(started: Worker, view: View = VENDOR_TRIPS) -> dict[str, int] | None:
    """Position by topic-partition that a worker answers with; None while it does not answer."""
    with contextlib.suppress(httpx.HTTPError):
        answer = started.get(f"/v1/views/{view.name}/rows")
        return answer.json()["meta"]["position"] if answer.is_success else None
    return None


def covers(settings: Settings, started: Worker, view: View = VENDOR_TRIPS) -> bool:
    """Whether a worker's answers cover all that is in the topics of the view's source now."""
    ends = {f"{topic}-{partition}": end for (topic, partition), end in log_ends(settings, view.source).items()}
    at = position(started, view)
    return at is not None and all(at[place] >= end for place, end in ends.items())


def tasks_of(started: Worker, group: str = RIDES.name) -> list[int]:
    """Tasks of a group that a ready worker owns; none while it is not ready."""
    with contextlib.suppress(httpx.HTTPError):
        answer = started.get("/readyz")
        return answer.json()["groups"][group]["tasks"] if answer.is_success else []
    return []


def assert_exact(settings: Settings, started: list[Worker], views: Sequence[View] = VIEWS) -> None:
    """Tables of one group in workers and changelog equal the plain fold of its topics, and every ledger adds up."""
    source = views[0].source
    records, stored = records_of(settings, source), in_changelog(settings, views)
    for view in views:
        expected = by_task(view, records)
        assert expected
        assert exported(view, started, settings.topics.partitions) == expected
        assert stored[view.name] == expected
    for partition in range(settings.topics.partitions):
        history = markers(settings, partition, source)
        assert [m.sequence for m in history] == list(range(1, len(history) + 1))
        for before, after in itertools.pairwise(history):
            assert all(after.next_offsets[t] >= offset for t, offset in before.next_offsets.items())
        if history:
            assert_ledgers(history[-1])


def assert_ledgers(marker: Marker) -> None:
    """Rule 15: offsets add up, and so do the fates of decoded records, for views that have read as far as the task."""
    for topic, at in marker.inputs.items():
        assert at.adds_up, (topic, at)
        for name, view in marker.views.items():
            if topic in view.fates and view.state == LIVE:
                assert view.fates[topic].total == at.decoded, (topic, name)


def markers(settings: Settings, partition: int, source: Source = RIDES) -> list[Marker]:
    """Every marker that a task has ever written, in the log's order (nothing is compacted within an hour)."""
    changelog, key = names.changelog_topic(settings.app_id, source.name), marker_key(source.number)
    return [decode_marker(m.value()) for m in read(settings, changelog, partition) if m.key() == key]


def next_offsets(settings: Settings) -> dict[tuple[str, int], int]:
    """Where the last markers of all tasks stand."""
    last = {p: history[-1] for p in range(settings.topics.partitions) if (history := markers(settings, p))}
    return {(topic, p): offset for p, marker in last.items() for topic, offset in marker.next_offsets.items()}


def committed_offsets(settings: Settings) -> dict[tuple[str, int], int]:
    """What the group has committed, as Kafka's own tools show it."""
    admin = AdminClient(librdkafka_options(settings.kafka))
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(settings.app_id)]).values()
    (group,) = results(asked, "committed offsets are told")
    return {(at.topic, at.partition): at.offset for at in group.topic_partitions}


def messages(settings: Settings, topic: str) -> list:
    """All committed messages of a topic, partition by partition."""
    return [m for p in range(settings.topics.partitions) for m in read(settings, topic, p)]


def places_of(settings: Settings, topics: Sequence[str]) -> list[TopicPartition]:
    return [TopicPartition(topic, p) for topic in topics for p in range(settings.topics.partitions)]


def log_ends_of(settings: Settings, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    """Where each partition of these topics ends now."""
    ends = cluster_of(settings.kafka).log_ends(places_of(settings, topics), committed=True)
    return {(p.topic, p.partition): end for p, end in ends.items()}


def count_of(settings: Settings, topic: str) -> int:
    """Records between the ends of a topic's partitions, control records among them: cheap enough to poll."""
    consumer = Consumer({**librdkafka_options(settings.kafka), "group.id": "count"})
    try:
        ends = [
            consumer.get_watermark_offsets(KafkaPartition(topic, p), timeout=patient(10))
            for p in range(settings.topics.partitions)
        ]
    finally:
        consumer.close()
    return sum(high - low for low, high in ends)


def seconds_until(condition: object, what: str, started: list[Worker]) -> float:
    """How long it took."""
    began = time.monotonic()
    wait_for(condition, what, started)  # type: ignore[arg-type]
    return time.monotonic() - began

"""What makes a worker refuse a world, and that it does so in words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from subprocess import CompletedProcess

from confluent_kafka import Consumer, Producer

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.group_members import Members
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import encode_marker
from app.domain.marker import InputPosition, Marker
from app.rides.ride import RIDES
from app.topics import application_topics
from tests.support.machine.asking import flush
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import wait_for
from tests.support.machine.world import delete_topics
from tests.support.truth import log_ends


@contextlib.contextmanager
def member(settings: Settings, client_id: str) -> Iterator[None]:
    """Another live member of the application's group, as far as the broker knows."""
    mine = {"client.id": client_id, "group.id": settings.app_id}
    consumer = Consumer({**librdkafka_options(settings.kafka), **mine})
    members = Members(settings.kafka, settings.app_id)
    consumer.subscribe(["rides.yellow"])

    def joined() -> bool:
        consumer.poll(0.1)
        return any(other.client_id == client_id for other in members())

    try:
        wait_for(joined, "the member has joined")
        yield
    finally:
        consumer.close()


def make_changelog_anew(world: Settings) -> None:
    """Another topic of the same name, which holds nothing."""
    delete_topics(world, [names.changelog_topic(world.app_id, RIDES.name)])
    create_topics(world.kafka, application_topics(world, RIDES.name))


def on_own_port(settings: Settings) -> Settings:
    """For a worker beside others."""
    (port,) = free_ports(1)
    return settings.model_copy(update={"worker": settings.worker.model_copy(update={"http_port": port})})


def write_marker(world: Settings, moved: Callable[[InputPosition], InputPosition]) -> None:
    """A state of task 0 that covers what its topics hold now, moved as told."""
    topics = _input_topics(world)
    facts, ends = Cluster(world.kafka).topics(topics), log_ends(world, RIDES)
    at = {t: ends.get((t, 0), 0) for t in topics}
    inputs = {t: InputPosition(facts[t].id, at[t], at[t]) for t in topics}
    inputs["rides.yellow"] = moved(inputs["rides.yellow"])
    marker = Marker(world.app_id, RIDES.number, 0, 1, inputs, {})
    producer = Producer(librdkafka_options(world.kafka))
    changelog = names.changelog_topic(world.app_id, RIDES.name)
    producer.produce(changelog, encode_marker(marker), marker_key(RIDES.number), 0)
    flush(producer)


def assert_said(ended: CompletedProcess[str], *words: str) -> None:
    """A worker has failed with these words, the first of them once, and without a stack."""
    assert ended.returncode not in (0, None), ended.stdout
    for word in words:
        assert word in ended.stdout
    assert "Traceback" not in ended.stdout
    assert ended.stdout.count(words[0]) == 1, ended.stdout


def _input_topics(world: Settings) -> list[str]:
    return [*(t.name for t in RIDES.topics), names.advance_requests_topic(world.app_id, RIDES.name)]

"""A cluster of a test's own making: topics emptied between tests, rides written into them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.codecs.avro.encode import encode_frame
from app.definitions.registered import register_schemas
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDE_COLUMNS, RIDES, SERVICES, avro_schema
from app.topics import topics
from tests.support.machine.asking import flush, results
from tests.support.machine.waiting import patient, wait_for


def fresh_topics(settings: Settings) -> None:
    """All topics of the application, new and empty, with their schemas."""
    admin = AdminClient(librdkafka_options(settings.kafka))
    wanted = topics(settings)
    existing = set(admin.list_topics(timeout=patient(10)).topics)
    for future in admin.delete_topics([t.name for t in wanted if t.name in existing] or ["none"]).values():
        with contextlib.suppress(KafkaException):
            results([future], "the topics are deleted")
    names = {t.name for t in wanted}
    wait_for(lambda: not set(admin.list_topics(timeout=patient(10)).topics) & names, "the topics are gone")
    create_topics(settings.kafka, wanted)
    register_schemas(settings, (RIDES,))


def alter_topic(settings: Settings, topic: str, changes: Mapping[str, object]) -> None:
    """Change a topic's settings, under Kafka's names."""
    entries = [
        ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET) for name, value in changes.items()
    ]
    admin = AdminClient(librdkafka_options(settings.kafka))
    asked = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    results(admin.incremental_alter_configs([asked]).values(), "the topic is altered", 30)


def write_rides(
    settings: Settings,
    first: int,
    count: int,
    *,
    seed: int = 7,
    dirt: Dirt | None = None,
    topics: Mapping[str, str] = SERVICES,
) -> None:
    """Generated rides `[first, first + count)`, acknowledged when this returns. `topics`: by service."""
    rides = Generator(seed=seed, dirt=dirt or Dirt.real(), rides_per_day=20_000).rides(first, count)
    schema_id = register_schemas(settings, (RIDES,))["rides.yellow"]
    producer = Producer(
        {**librdkafka_options(settings.kafka), "partitioner": "murmur2_random", "enable.idempotence": True}
    )
    for (service,), part in rides.group_by("service", maintain_order=True):
        values = encode_frame(part.select(c.name for c in RIDE_COLUMNS), avro_schema(), schema_id)
        rows = zip(values, part["pickup_zone"], part["clock_ms"], strict=True)
        for value, zone, clock_ms in rows:
            key = str(264 if zone is None else zone)
            producer.produce(topics[str(service)], value=bytes(value), key=key, timestamp=clock_ms)
            producer.poll(0)
    flush(producer)

"""What a new view reads again from a real broker."""

from __future__ import annotations

from confluent_kafka import Producer

from app.base import names
from app.base.errors import RegistryUnavailable
from app.base.kafka.clients import aiokafka_options, librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.settings import Settings
from app.codecs.batches.origin_headers import OFFSET, PARTITION, REASON, TOPIC
from app.domain.records import Reason, TopicPartition
from app.engine.core.building import Stretch
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.rereading import Rereader
from app.engine.drive.kafka.schemas import SchemaCache
from app.rides.ride import RIDES
from tests.support.machine.asking import flush

SOURCE = RIDES.topics[0].name


async def test_records_whose_schema_was_unknown_come_without_their_value(world: Settings) -> None:
    """Though the registry may have it by now: what the task did with them stays done."""
    cluster = Cluster(world.kafka)
    (first,) = cluster.log_starts([TopicPartition(SOURCE, 0)]).values()
    stretch = Stretch(SOURCE, first, first + 4)
    reader = Rereader(world.app_id, Connections(aiokafka_options(world.kafka), cluster, _no_schemas()))
    _send(world, SOURCE, *({} for _ in range(4)))
    batch, _ = await reader.read(stretch, 0)
    assert list(batch.values) == [b"0", b"1", b"2", b"3"]

    quarantine = names.quarantine_topic(world.app_id)
    _send(world, quarantine, _refused(SOURCE, first + 1, Reason.UNKNOWN_SCHEMA))
    batch, _ = await reader.read(stretch, 0)
    assert list(batch.values) == [b"0", None, b"2", b"3"]

    others = RIDES.topics[1].name
    told = ((SOURCE, first, Reason.UNDECODABLE), (others, first, Reason.UNKNOWN_SCHEMA))
    _send(world, quarantine, *(_refused(*one) for one in told), _refused(SOURCE, first + 3, Reason.UNKNOWN_SCHEMA))
    batch, _ = await reader.read(stretch, 0)
    assert list(batch.values) == [b"0", None, b"2", None]


def _refused(topic: str, offset: int, reason: str) -> dict[str, str]:
    return {TOPIC: topic, PARTITION: "0", OFFSET: str(offset), REASON: reason}


def _send(world: Settings, topic: str, *headers: dict[str, str]) -> None:
    producer = Producer(librdkafka_options(world.kafka))
    for number, told in enumerate(headers):
        producer.produce(topic, str(number), partition=0, headers=told)
    flush(producer)


def _no_schemas() -> SchemaCache:
    return SchemaCache(lambda schema_id: None, RegistryUnavailable)

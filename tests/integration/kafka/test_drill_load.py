"""What a drill holds to be written is what it wrote, whatever the brokers' answers say."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewTopic

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from tests.drills.world.load import NotingClient
from tests.support.machine.waiting import patient


def test_a_record_is_noted_with_the_timestamp_it_was_given(world: Settings) -> None:
    options, topic = librdkafka_options(world.kafka), f"{world.app_id}.stamped"
    stamped = NewTopic(topic, 1, config={"message.timestamp.type": "LogAppendTime"})  # the report has the broker's
    admin = AdminClient(options)
    admin.create_topics([stamped])[topic].result(patient(30))
    noted = []
    client = NotingClient(options, lambda error, message, timestamp_ms: noted.append((error, timestamp_ms)))
    client.produce(topic, b"value", b"key", timestamp=1_234)
    assert client.flush(patient(30)) == 0
    assert noted == [(None, 1_234)]

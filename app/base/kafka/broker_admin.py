"""What the brokers of a cluster are set to. Nothing here changes anything."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigEntry, ConfigResource, ResourceType

from app.base.errors import KafkaUnavailable
from app.base.kafka.administrator import connected
from app.base.kafka.topic_admin import REQUEST_TIMEOUT_SECONDS
from app.base.setting_groups import KafkaSettings


class BrokerSetting(NamedTuple):
    """A broker's setting; `at_start`: it is read when the broker starts, and not changed under way."""

    value: str | None
    at_start: bool


def broker_settings(kafka: KafkaSettings) -> dict[int, dict[str, BrokerSetting]]:
    """By broker that is up and by Kafka's name. KafkaUnavailable if one cannot be asked, or refuses to tell."""
    admin, cluster = connected(kafka)
    try:
        told = {broker: _told(admin, broker) for broker in cluster.brokers}
    except KafkaException as error:
        raise KafkaUnavailable(
            f"{kafka.bootstrap_server} does not tell its brokers' settings: {error.args[0].str()}"
        ) from error
    return {
        broker: {name: BrokerSetting(entry.value, bool(entry.is_read_only)) for name, entry in entries.items()}
        for broker, entries in told.items()
    }


def _told(admin: AdminClient, broker: int) -> dict[str, ConfigEntry]:
    """Of one: the client takes no more in a call. Brokers tell of themselves alone."""
    asked = ConfigResource(ResourceType.BROKER, str(broker))
    told: dict[str, ConfigEntry] = admin.describe_configs([asked])[asked].result(REQUEST_TIMEOUT_SECONDS)
    return told

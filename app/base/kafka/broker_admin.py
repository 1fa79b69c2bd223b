"""What the brokers of a cluster are set to. Nothing here changes anything."""

from __future__ import annotations

from typing import NamedTuple

from confluent_kafka.admin import AdminClient, ClusterMetadata, ConfigEntry, ConfigResource, ResourceType

from app.base.kafka.administrator import asked
from app.base.setting_groups import KafkaSettings


class BrokerSetting(NamedTuple):
    """A broker's setting; `at_start`: it is read when the broker starts, and not changed under way."""

    value: str | None
    at_start: bool


def broker_settings(kafka: KafkaSettings) -> dict[int, dict[str, BrokerSetting]]:
    """By broker that is up and by Kafka's name. KafkaUnavailable if one cannot be asked, or refuses to tell."""

    def ask(admin: AdminClient, cluster: ClusterMetadata, seconds: float) -> dict[int, dict[str, BrokerSetting]]:
        told = {broker: _told(admin, broker, seconds) for broker in cluster.brokers}
        return {
            broker: {name: BrokerSetting(entry.value, bool(entry.is_read_only)) for name, entry in entries.items()}
            for broker, entries in told.items()
        }

    return asked(kafka, ask, "does not tell its brokers' settings")


def _told(admin: AdminClient, broker: int, seconds: float) -> dict[str, ConfigEntry]:
    """Of one: the client takes no more in a call. Brokers tell of themselves alone."""
    one = ConfigResource(ResourceType.BROKER, str(broker))
    told: dict[str, ConfigEntry] = admin.describe_configs([one])[one].result(seconds)
    return told

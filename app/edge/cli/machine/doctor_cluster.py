"""What `flagfall doctor` finds in a cluster that answers: its brokers' and topics' settings against what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.base.errors import KafkaUnavailable
from app.base.kafka.broker_admin import BrokerSetting, broker_settings
from app.base.kafka.demand import Requirement
from app.base.kafka.demands import PARTITIONS, REPLICATION_FACTOR, broker_demands, demands_of_topics
from app.base.kafka.topic import SAFE_REPLICAS, Topic
from app.base.kafka.topic_admin import described
from app.base.setting_groups import variable
from app.base.settings import Settings
from app.edge.cli.machine.findings import Finding

BROKERS, TOPICS = "brokers", "topics"
FEW = 2


def cluster_findings(settings: Settings, topics: Sequence[Topic]) -> Iterator[Finding]:
    """One for each setting that is asked for, of all brokers or topics together; and for topics that are missing."""
    try:
        brokers = broker_settings(settings.kafka)
        found = {name: one.told for name, one in described(settings.kafka, topics).items()}
    except KafkaUnavailable as error:
        yield Finding(BROKERS, "note", str(error), "Let this user describe brokers and topics, to have them checked.")
        return
    for demand in broker_demands(settings):
        yield of_brokers(demand, brokers, settings.kafka.bootstrap_server)
    yield from _copies(settings, len(brokers))
    missing = [topic.name for topic in topics if topic.name not in found]
    if missing:
        yield Finding(TOPICS, "note", f"missing: {', '.join(missing)}", "`flagfall topics create` makes them.")
    for demand, asked in demands_of_topics(topic for topic in topics if topic.name in found).items():
        told = {name: found[name].get(demand.name) for name in asked}
        yield of_topics(demand, told, settings.kafka.bootstrap_server)


def of_brokers(demand: Requirement, brokers: Mapping[int, Mapping[str, BrokerSetting]], address: str) -> Finding:
    """One setting of all brokers."""
    told = {broker: entries[demand.name] for broker, entries in brokers.items() if demand.name in entries}
    if not told:
        return Finding(BROKERS, "note", f"{demand.name}: this Kafka has no such setting; wanted {demand.wanted}")
    values = {f"broker {broker}": entry.value for broker, entry in told.items()}
    at_start = any(entry.at_start for entry in told.values())
    return _finding(BROKERS, demand, values, _how_broker(demand, address, at_start=at_start))


def of_topics(demand: Requirement, told: Mapping[str, str | None], address: str) -> Finding:
    """One setting of the topics of which it is asked."""
    wrong = [topic for topic, value in told.items() if not demand.admits(value)]
    return _finding(TOPICS, demand, told, _how_topic(demand, wrong[:1], address))


def _finding(subject: str, demand: Requirement, told: Mapping[str, str | None], how: str) -> Finding:
    wrong = {where: value for where, value in told.items() if not demand.admits(value)}
    shown = ", ".join(f"{value} ({listed(places)})" for value, places in _by_value(wrong or told))
    found = f"{demand.name} is {shown}; wanted {demand.wanted}"
    if not wrong:
        return Finding(subject, "ok", found)
    return Finding(subject, "fault" if demand.required else "note", found, f"{demand.reason} {how}")


def _by_value(told: Mapping[str, str | None]) -> Iterable[tuple[str | None, list[str]]]:
    places: dict[str | None, list[str]] = {}
    for where, value in told.items():
        places.setdefault(value, []).append(where)
    return places.items()


def listed(places: Sequence[str]) -> str:
    """A few by name, more by number."""
    return ", ".join(places) if len(places) <= FEW else f"{', '.join(places[:FEW])} and {len(places) - FEW} more"


def _how_broker(demand: Requirement, address: str, *, at_start: bool) -> str:
    setting = f"{demand.name}={demand.value}"
    if at_start:
        return f"To change it: {setting} in server.properties, and start the broker again."
    return f"To change it: {_configs(address, 'brokers --entity-default', setting)}"


def _how_topic(demand: Requirement, wrong: Sequence[str], address: str) -> str:
    if demand.name == PARTITIONS:
        return f"Set {variable('topics_partitions')} to fit, with another {variable('app_id')}."
    if demand.name == REPLICATION_FACTOR:
        return "To change it: kafka-reassign-partitions.sh."
    return "".join(
        f"To change it: {_configs(address, f'topics --entity-name {topic}', f'{demand.name}={demand.value}')}"
        for topic in wrong
    )


def _configs(address: str, entity: str, setting: str) -> str:
    return f"kafka-configs.sh --bootstrap-server {address} --alter --entity-type {entity} --add-config {setting}"


def _copies(settings: Settings, brokers: int) -> Iterator[Finding]:
    """A cluster that could keep more copies than it is asked for."""
    replicas = settings.topics.replication_factor
    if brokers >= SAFE_REPLICAS > replicas:
        advice = f"Set {variable('topics_replication_factor')}={SAFE_REPLICAS} before the topics are made."
        lost = "one that is lost takes records with it that were acknowledged"
        yield Finding(BROKERS, "note", f"{brokers}, and {replicas} of each topic: {lost}", advice)

"""Create topics, and compare those that exist with their entries. Nothing here changes or deletes a topic.

Auto-creation is not relied upon and not wanted: a topic with seven days' retention silently loses rides of 2019.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, sleep
from types import MappingProxyType
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartitionInfo
from confluent_kafka.admin import (
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    NewTopic,
    ResourceType,
    TopicMetadata,
)

from app.base.errors import KafkaUnavailable, TopicsDiffer, TopicsMissing
from app.base.kafka.administrator import POLL_SECONDS, REQUEST_TIMEOUT_SECONDS, admin_client, asked, told_by_each
from app.base.kafka.demands import PARTITIONS, REPLICATION_FACTOR, entry_demands
from app.base.kafka.passing import ANSWERS, ASK_FOR_RIGHTS, passes
from app.base.kafka.topic import Topic
from app.base.setting_groups import KafkaSettings

HIDDEN = f". What a user may not see is missing for it: {ASK_FOR_RIGHTS}"


@dataclass(frozen=True, slots=True)
class TopicState:
    """An entry beside what the cluster has. `differences` is empty where they agree or the topic is missing."""

    topic: Topic
    exists: bool
    differences: tuple[str, ...] = ()


class Copies(NamedTuple):
    """Of a partition, by the ids of brokers: who leads it, None where nobody does; who has a copy, and whose copies
    have all of it."""

    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


class Described(NamedTuple):
    """Partitions, the least replication factor of one, configuration, and by partition who has it."""

    partitions: int
    replicas: int
    settings: dict[str, str]
    copies: Mapping[int, Copies] = MappingProxyType({})

    @property
    def told(self) -> dict[str, str]:
        """All of it under the names that demands have."""
        return {PARTITIONS: str(self.partitions), REPLICATION_FACTOR: str(self.replicas), **self.settings}


def topic_states(kafka: KafkaSettings, topics: Sequence[Topic]) -> list[TopicState]:
    """Each entry compared with the cluster, in order. Raises KafkaUnavailable."""
    found = described(kafka, topics)
    differences = {t.name: tuple(_differences(t, found[t.name])) for t in topics if t.name in found}
    return [TopicState(t, t.name in found, differences.get(t.name, ())) for t in topics]


def described(kafka: KafkaSettings, topics: Sequence[Topic]) -> dict[str, Described]:
    """Those of some topics that exist, by name. Raises KafkaUnavailable.

    Another broker than the one that told of a topic may not know it yet, or not any more: both are asked again.
    """

    def ask(admin: AdminClient, cluster: ClusterMetadata, seconds: float) -> dict[str, Described]:
        return _describe(admin, [topic.name for topic in topics if topic.name in cluster.topics], seconds)

    return asked(kafka, ask, "does not describe its topics", ANSWERS)


def create_topics(kafka: KafkaSettings, topics: Sequence[Topic]) -> list[str]:
    """Create those that are missing; returns their names, [] if all were there.

    Raises TopicsDiffer, before anything is created, if one exists with other properties.
    """
    states = topic_states(kafka, topics)
    refuse_different(states)
    missing = [state.topic for state in states if not state.exists]
    if not missing:
        return []
    created = _create(admin_client(kafka), missing)
    await_leaders(kafka, {topic.name: topic.partitions for topic in missing})
    refuse_different(topic_states(kafka, missing))
    return created


def require_topics(kafka: KafkaSettings, topics: Sequence[Topic]) -> None:
    """Raises TopicsMissing or TopicsDiffer unless every topic exists as its entry says."""
    states = topic_states(kafka, topics)
    missing = [state.topic.name for state in states if not state.exists]
    if missing:
        raise TopicsMissing(
            f"{kafka.bootstrap_server} has no topic {', '.join(missing)}; `flagfall topics create` makes them, with "
            f"the settings that this process has{HIDDEN if kafka.sasl_username else ''}"
        )
    refuse_different(states)


def refuse_different(states: Iterable[TopicState]) -> None:
    """Raises TopicsDiffer naming every property in which an existing topic is not what its entry says."""
    lines = [f"  {state.topic.name}: {one}" for state in states for one in state.differences]
    if lines:
        raise TopicsDiffer(
            "Topics exist and are not as they should be:\n"
            + "\n".join(lines)
            + "\nCorrect them with Kafka's own tools, or set FLAGFALL_TOPICS_* (or another FLAGFALL_APP_ID) to fit. "
            "Where there are too few partitions, `flagfall widen` adds them."
        )


def _create(admin: AdminClient, missing: Sequence[Topic]) -> list[str]:
    """Make them; the names of those that nobody else has made meanwhile."""
    deadline, created, left = monotonic() + REQUEST_TIMEOUT_SECONDS, list[str](), {t.name: t for t in missing}
    while left:
        asked = [
            NewTopic(t.name, num_partitions=t.partitions, replication_factor=t.replication_factor, config=t.settings)
            for t in left.values()
        ]
        for name, future in admin.create_topics(asked, operation_timeout=REQUEST_TIMEOUT_SECONDS).items():
            try:
                future.result(REQUEST_TIMEOUT_SECONDS)
                created.append(name)
            except KafkaException as error:
                told = error.args[0]
                if passes(told) and monotonic() < deadline:
                    continue
                if told.code() != KafkaError.TOPIC_ALREADY_EXISTS:  # else: somebody was quicker
                    raise KafkaUnavailable(f"topic {name} could not be created: {told.str()}") from error
            del left[name]
        if left:
            sleep(POLL_SECONDS)
    return created


def await_leaders(kafka: KafkaSettings, topics: Mapping[str, int]) -> None:
    """Wait until each broker, not only the controller, knows the topics with their partitions, and all are led."""
    deadline = monotonic() + REQUEST_TIMEOUT_SECONDS
    while True:
        brokers = [told.topics for told in told_by_each(kafka)]
        unled = sorted(name for name, count in topics.items() if not all(_is_led(b.get(name), count) for b in brokers))
        if not unled:
            return
        if monotonic() > deadline:
            raise KafkaUnavailable(
                f"{kafka.bootstrap_server} made partitions that have no leader yet: {', '.join(unled)}"
            )
        sleep(POLL_SECONDS)


def _is_led(topic: TopicMetadata | None, partitions: int) -> bool:
    led = [] if topic is None else [one.leader >= 0 for one in topic.partitions.values()]
    return len(led) >= partitions and all(led)


def _describe(admin: AdminClient, names: Sequence[str], seconds: float) -> dict[str, Described]:
    if not names:
        return {}
    described = admin.describe_topics(TopicCollection(list(names)))
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    configured = {resource.name: future for resource, future in admin.describe_configs(resources).items()}
    found = {}
    for name in names:
        partitions = described[name].result(seconds).partitions
        entries = configured[name].result(seconds)
        copies = {one.id: _copies(one) for one in partitions}
        replicas = min(len(one.replicas) for one in copies.values())
        found[name] = Described(len(partitions), replicas, {key: e.value for key, e in entries.items()}, copies)
    return found


def _copies(partition: TopicPartitionInfo) -> Copies:
    has, in_sync = (tuple(node.id for node in nodes) for nodes in (partition.replicas, partition.isr))
    return Copies(None if partition.leader is None else partition.leader.id, has, tuple(sorted(in_sync)))


def _differences(topic: Topic, found: Described) -> Iterable[str]:
    if found.partitions != topic.partitions:
        yield f"has {found.partitions} partitions, not {topic.partitions}"
    if found.replicas < topic.replication_factor:
        yield f"has replication factor {found.replicas}, not {topic.replication_factor}"
    for demand in entry_demands(topic):
        if not demand.admits(has := found.settings.get(demand.name)):
            yield f"has {demand.name}={has}, not {demand.wanted}"

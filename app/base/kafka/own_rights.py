"""What whoever asks may do, in Kafka's own word: nobody needs a right to be told of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation, AdminClient, ClusterMetadata

from app.base.kafka.acls import OPERATIONS, Acl, Resource
from app.base.kafka.administrator import asked
from app.base.kafka.group_members import LIBRARY_SECONDS
from app.base.kafka.passing import ANSWERS, REFUSALS
from app.base.setting_groups import KafkaSettings

NOT_THERE = ANSWERS | {KafkaError.GROUP_ID_NOT_FOUND}


def lacking(kafka: KafkaSettings, needed: Collection[Acl]) -> list[Acl]:
    """Rights to topics and groups that Kafka does not give to who asks, in the order given. Raises KafkaUnavailable.

    A topic that is not there is passed over, as are transactional ids and names that begin so: Kafka tells nothing of
    these. Where it tells nothing of a topic or a group to who asks, everything is lacking.
    """

    def ask(admin: AdminClient, _: ClusterMetadata, seconds: float) -> list[Acl]:
        allowed = _allowed_now(admin, needed, seconds)
        return [acl for acl in needed if _is_lacking(acl, allowed.get((acl.resource, acl.name)))]

    return asked(kafka, ask, "does not say what we may")


def _allowed_now(
    admin: AdminClient, needed: Collection[Acl], seconds: float
) -> dict[tuple[Resource, str], frozenset[AclOperation]]:
    topics, groups = (_names(needed, resource) for resource in (Resource.TOPIC, Resource.GROUP))
    operations = {"include_authorized_operations": True, "request_timeout": LIBRARY_SECONDS}
    told = {
        Resource.TOPIC: admin.describe_topics(TopicCollection(topics), **operations),
        Resource.GROUP: admin.describe_consumer_groups(groups, **operations) if groups else {},
    }
    return {
        (resource, name): allowed
        for resource, futures in told.items()
        for name, future in futures.items()
        if (allowed := _allowed(future, seconds)) is not None
    }


def _names(needed: Iterable[Acl], resource: Resource) -> list[str]:
    return sorted({acl.name for acl in needed if acl.resource is resource and not acl.is_prefix})


def _allowed(future: Future[Any], seconds: float) -> frozenset[AclOperation] | None:
    """None where there is no such thing."""
    try:
        return frozenset(future.result(seconds).authorized_operations)
    except KafkaException as error:
        if error.args[0].code() in REFUSALS:
            return frozenset()
        if error.args[0].code() in NOT_THERE:
            return None
        raise


def _is_lacking(acl: Acl, allowed: frozenset[AclOperation] | None) -> bool:
    return allowed is not None and not acl.is_prefix and OPERATIONS[acl.operation] not in allowed

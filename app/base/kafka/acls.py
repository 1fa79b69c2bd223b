"""Rights of users, as Kafka's access control lists hold them: told, given, taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import Future
from enum import StrEnum
from typing import Any, NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ClusterMetadata,
    ResourcePatternType,
    ResourceType,
)

from app.base.errors import KafkaUnavailable
from app.base.kafka.administrator import OF_PASSWORDS, OF_TLS, REQUEST_TIMEOUT_SECONDS, admin_client, asked
from app.base.kafka.broker_admin import broker_settings
from app.base.kafka.group_members import LIBRARY_SECONDS
from app.base.kafka.passing import is_refusal
from app.base.setting_groups import KafkaSettings
from app.domain.errors import FlagfallError

CLUSTER_NAME = "kafka-cluster"
"""Kafka's own, of the one resource of its kind."""
ANY_HOST = ANY_NAME = "*"
AUTHORIZER = "authorizer.class.name"
EVERYBODY = "*"
"""Kafka's own name of a user, for entries about whoever has come in."""


class Resource(StrEnum):
    """What there are rights to, as Kafka's tools call it."""

    TOPIC = "topic"
    GROUP = "group"
    TRANSACTIONAL_ID = "transactional-id"
    CLUSTER = "cluster"


class Operation(StrEnum):
    """As Kafka's tools call them. Who may read or write may describe, too."""

    ALL = "All"
    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    DESCRIBE_CONFIGS = "DescribeConfigs"


class Acl(NamedTuple):
    """One operation on a resource, or on all whose names begin so. The others that Kafka knows are not among ours."""

    resource: Resource
    name: str
    operation: Operation
    is_prefix: bool = False

    def includes(self, other: Acl) -> bool:
        """Whether nobody needs the other who has this. That who may read may describe, too, is left out."""
        if self.resource is not other.resource or self.operation not in (other.operation, Operation.ALL):
            return False
        if self.is_prefix:
            return other.name.startswith(self.name)
        return self.name == ANY_NAME or (self.name == other.name and not other.is_prefix)


class AclsRefused(FlagfallError):
    """The cluster does not tell or take rights: it has no authorizer, or who asks may not."""


_TYPES = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
    Resource.CLUSTER: ResourceType.BROKER,
}
OPERATIONS = {
    Operation.ALL: AclOperation.ALL,
    Operation.READ: AclOperation.READ,
    Operation.WRITE: AclOperation.WRITE,
    Operation.CREATE: AclOperation.CREATE,
    Operation.ALTER: AclOperation.ALTER,
    Operation.DESCRIBE: AclOperation.DESCRIBE,
    Operation.DESCRIBE_CONFIGS: AclOperation.DESCRIBE_CONFIGS,
}
"""As Kafka's administrators' client calls them."""
_WITH_RIGHTS = {Operation.DESCRIBE: "see", Operation.ALTER: "change"}
_RESOURCE_OF = {kafkas: ours for ours, kafkas in _TYPES.items()}
_OPERATION_OF = {kafkas: ours for ours, kafkas in OPERATIONS.items()}


def beyond(some: Iterable[Acl], others: Collection[Acl]) -> list[Acl]:
    """Those that none of the others includes, in order."""
    return sorted(acl for acl in some if not any(other.includes(acl) for other in others))


def require(kafka: KafkaSettings, operation: Operation) -> None:
    """Raises AclsRefused unless Kafka lets who asks describe the cluster, and so see rights, or alter it, and them.
    KafkaUnavailable where it does not say."""

    def ask(admin: AdminClient, _: ClusterMetadata, seconds: float) -> bool:
        told = admin.describe_cluster(include_authorized_operations=True, request_timeout=LIBRARY_SECONDS)
        return OPERATIONS[operation] in (told.result(seconds).authorized_operations or ())  # None: not even describe

    if not asked(kafka, ask, "does not say what we may"):
        raise AclsRefused(
            f"{kafka.bootstrap_server}: {kafka.sasl_username or 'who asks'} lacks {operation} on the cluster, "
            f"which it takes to {_WITH_RIGHTS[operation]} rights. Ask as who may {operation.lower()} the cluster: "
            f"{OF_PASSWORDS} and {OF_TLS} say who asks"
        )


def held(kafka: KafkaSettings, user: str) -> tuple[set[Acl], int]:
    """What entries of the user's own let it do from anywhere; and how many it has of kinds that are none of ours.
    Raises AclsRefused, KafkaUnavailable. Kafka's client (2.16) knows of no refusal here: it finds nothing then."""
    require(kafka, Operation.DESCRIBE)
    of_user = AclBindingFilter(
        ResourceType.ANY, None, ResourcePatternType.ANY, principal(user), None, AclOperation.ANY, AclPermissionType.ANY
    )
    admin = admin_client(kafka)  # which ends, and its answers with it, once nothing names it
    found = _told(kafka, admin.describe_acls(of_user))
    if not found:
        _require_authorizer(kafka)
    known = {acl for one in found if (acl := _acl(one)) is not None}
    return known, len(found) - len(known)


def _require_authorizer(kafka: KafkaSettings) -> None:
    """Raises AclsRefused where brokers say that they have none. One that may not be asked has one."""
    try:
        brokers = broker_settings(kafka).values()
    except KafkaUnavailable as error:
        if is_refusal(error):
            return
        raise
    if any(settings[AUTHORIZER].value == "" for settings in brokers if AUTHORIZER in settings):
        raise AclsRefused(
            f"{kafka.bootstrap_server}: brokers have no authorizer (docs/rights.md): everybody may do anything there"
        )


def grant(kafka: KafkaSettings, user: str, acls: Collection[Acl]) -> None:
    """Give them all; those that are there stay. Raises AclsRefused, when some may have been given."""
    admin = admin_client(kafka)
    futures = admin.create_acls([_binding(user, acl) for acl in acls]) if acls else {}
    for future in futures.values():
        _told(kafka, future)


def revoke(kafka: KafkaSettings, user: str, acls: Collection[Acl]) -> None:
    """Take them; one that is not there is none the less gone. Raises AclsRefused, when some may have been taken."""
    admin = admin_client(kafka)
    futures = admin.delete_acls([_filter(user, acl) for acl in acls]) if acls else {}
    for future in futures.values():
        _told(kafka, future)


def principal(user: str) -> str:
    """As authorizers know who gave this name and a password."""
    return f"User:{user}"


def _told(kafka: KafkaSettings, future: Future[Any]) -> Any:
    try:
        return future.result(REQUEST_TIMEOUT_SECONDS)
    except (KafkaException, TimeoutError) as error:
        why = error.args[0].name() if isinstance(error, KafkaException) else "no answer"
        raise AclsRefused(
            f"{kafka.bootstrap_server}: {why}. Brokers need an authorizer (docs/rights.md), and who asks the right to "
            "alter the cluster"
        ) from error


def _binding(user: str, acl: Acl) -> AclBinding:
    return AclBinding(*_place(user, acl), OPERATIONS[acl.operation], AclPermissionType.ALLOW)


def _filter(user: str, acl: Acl) -> AclBindingFilter:
    return AclBindingFilter(*_place(user, acl), OPERATIONS[acl.operation], AclPermissionType.ALLOW)


def _place(user: str, acl: Acl) -> tuple[ResourceType, str, ResourcePatternType, str, str]:
    pattern = ResourcePatternType.PREFIXED if acl.is_prefix else ResourcePatternType.LITERAL
    return _TYPES[acl.resource], acl.name, pattern, principal(user), ANY_HOST


def _acl(binding: AclBinding) -> Acl | None:
    """None for what none of ours is: denials, of one host, deletion."""
    resource, operation = _RESOURCE_OF.get(binding.restype), _OPERATION_OF.get(binding.operation)
    is_ours = binding.permission_type is AclPermissionType.ALLOW and binding.host == ANY_HOST
    if resource is None or operation is None or not is_ours:
        return None
    return Acl(resource, binding.name, operation, binding.resource_pattern_type is ResourcePatternType.PREFIXED)

"""Users of guarded brokers: made, with the rights of a role; and what they were seen to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from app.base.kafka.acls import Acl, Operation, Resource
from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.rights import KafkaRole
from tests.support.clusters.brokers import Brokers
from tests.support.clusters.doors import GuardedDoor, password_of
from tests.support.machine.asking import results
from tests.support.machine.workers import flagfall

ITERATIONS = 4096
AUTHORIZER = "kafka.authorizer.logger"
ALLOWED = re.compile(
    r"Principal = User:(?P<user>\S+) is Allowed operation = (?P<operation>\S+) from host = \S+ "
    r"on resource = (?P<resource>\S+?):LITERAL:(?P<name>\S+)"
)
_RESOURCES = {resource.replace("-", "").lower(): resource for resource in Resource}
_OPERATIONS = {operation.name: operation for operation in Operation}


@dataclass
class Users:
    """Of these brokers; each has the password that `doors` gives it."""

    brokers: Brokers
    door: GuardedDoor

    def make(self, role: KafkaRole, user: str) -> Settings:
        """A user with the role's rights; the settings by which it comes in."""
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
        self._alter(UserScramCredentialUpsertion(user, credential, password_of(user).encode()))
        granted = flagfall(self.brokers.settings, "rights", "grant", role, user)
        assert granted.returncode == 0, granted.stderr
        return self.settings_of(user)

    def remove(self, user: str) -> None:
        """It cannot come in any more; who is in stays."""
        self._alter(UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512))

    def settings_of(self, user: str) -> Settings:
        kafka = self.door.kafka_of(user, self.brokers.nodes)
        return self.brokers.settings.model_copy(update={"kafka": kafka})

    def seen(self, user: str) -> set[Acl]:
        """What brokers have let the user do, so far."""
        return set(self._allowed(user))

    def _allowed(self, user: str) -> Iterator[Acl]:
        for node in self.brokers.nodes:
            for line in (node.data_dir / "logs" / "kafka.log").read_text().splitlines():
                found = ALLOWED.search(line)
                if found and found["user"] == user and found["operation"] in _OPERATIONS:
                    resource = _RESOURCES[found["resource"].lower()]
                    yield Acl(resource, found["name"], _OPERATIONS[found["operation"]])

    def _alter(self, change: UserScramCredentialUpsertion | UserScramCredentialDeletion) -> None:
        admin = AdminClient(librdkafka_options(self.brokers.settings.kafka))
        results(admin.alter_user_scram_credentials([change]).values(), "the user is altered")

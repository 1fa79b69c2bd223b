"""Who is in a consumer group now, and in what state it is, as its coordinator tells. Blocking: to be called from a
thread on a loop."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import Future
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException

from app.base.kafka.administrator import admin_client
from app.base.kafka.passing import passes
from app.base.setting_groups import KafkaSettings
from app.domain.errors import FlagfallError

ANSWER_SECONDS = 5.0
"""So long is an answer waited for; then its client is given up."""
LIBRARY_SECONDS = 3_600.0
"""The most that librdkafka takes. It must never give the question up before we give its client up: a coordinator that
answers afterwards, as one does that was frozen, ends the whole process (2.16, its issue 4605)."""


class GroupUnknown(FlagfallError):
    """The coordinator refuses to tell who is in the group; the message has its reason."""


class GroupSilent(FlagfallError):
    """Nobody tells who is in the group just now: its coordinator is away, or being made. Ask again."""


DEAD = "dead"
"""The state of a group that Kafka does not know."""


class Member(NamedTuple):
    """A member of a group: the client id that it gave itself, and the address from which the broker sees it."""

    client_id: str
    host: str
    instance_id: str | None = None


class Members:
    """The members of one group, asked anew by each call: `Members(kafka, "flagfall")()`, or `.told()`."""

    def __init__(self, kafka: KafkaSettings, group: str) -> None:
        self._kafka, self.group = kafka, group
        self._asking = threading.Lock()
        self._client: Any = None

    def __call__(self) -> list[Member]:
        """None, too, of a group that cannot be asked about just now. Raises GroupUnknown."""
        try:
            return self.told()
        except GroupSilent:
            return []

    def told(self) -> list[Member]:
        """None of a group that is not there. Raises GroupSilent, GroupUnknown."""
        group = self._described()
        return (
            []
            if group is None
            else [Member(m.client_id, m.host.lstrip("/"), m.group_instance_id) for m in group.members]
        )

    def state(self) -> str:
        """In Kafka's words, as `stable` or `empty`. Raises GroupSilent, GroupUnknown."""
        group = self._described()
        return DEAD if group is None else str(group.state.name).lower()

    def _described(self) -> Any:
        """None of a group that is not there, where brokers say so by an error."""
        with self._asking:  # a client that another thread replaced meanwhile would be gone, and never answer
            if self._client is None:
                self._client = admin_client(self._kafka)
            asked = self._client.describe_consumer_groups([self.group], request_timeout=LIBRARY_SECONDS)[self.group]
            return self._answered(asked)

    def _answered(self, asked: Future[Any]) -> Any:
        silent = f"who is in group {self.group} is not told just now"
        try:
            return asked.result(timeout=ANSWER_SECONDS)
        except TimeoutError:
            self._client = None
            raise GroupSilent(f"{silent}: no answer within {ANSWER_SECONDS:.0f} s") from None
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if cause.code() == KafkaError.GROUP_ID_NOT_FOUND:
                return None
            if passes(cause):
                raise GroupSilent(f"{silent}: {cause.str()}") from error
            raise GroupUnknown(f"who is in group {self.group} cannot be asked: {cause.str()}") from error


def seen_as(kafka: KafkaSettings) -> str | None:
    """The address of this machine from which it reaches the broker; None where there is no way to it."""
    host, _, port = kafka.bootstrap_server.split(",")[0].strip().rpartition(":")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as nothing_is_sent:
            nothing_is_sent.connect(address)
            return str(nothing_is_sent.getsockname()[0])
    except (OSError, ValueError):
        return None

"""A client for administration; and one that has reached the cluster, or the reason why none does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from app.base.errors import KafkaUnavailable
from app.base.kafka.clients import librdkafka_options
from app.base.setting_groups import KafkaSettings, variable

FIRST_ANSWER_SECONDS = 10.0
PROTOCOL = variable("kafka_security_protocol")
OF_PASSWORDS, OF_TLS = f"{variable('kafka_sasl')}_*", f"{variable('kafka_ssl')}_*"
SETTINGS_OF = {KafkaError._AUTHENTICATION: OF_PASSWORDS, KafkaError._SSL: OF_TLS}
"""By what librdkafka calls a door that stays shut: the settings that open it."""


def admin_client(kafka: KafkaSettings, told: Callable[[KafkaError], None] | None = None) -> AdminClient:
    """It reports through exceptions and stays silent otherwise. `told`: called, while the client is polled, with what
    keeps it from the brokers; a client that is never polled keeps all of that."""
    options = {**librdkafka_options(kafka), "log_level": 0, "socket.timeout.ms": 10_000}
    return AdminClient(options if told is None else {**options, "error_cb": told})


def connected(kafka: KafkaSettings) -> tuple[AdminClient, ClusterMetadata]:
    """A client, and what the cluster tells whoever asks of brokers and of topics that it may see. It must outlive its
    answers, and is for one task: what goes wrong later is kept with it. Raises KafkaUnavailable."""
    told = list[KafkaError]()
    admin = admin_client(kafka, told.append)
    try:
        return admin, admin.list_topics(timeout=FIRST_ANSWER_SECONDS)
    except KafkaException as error:
        admin.poll(0)
        raise KafkaUnavailable(unreached(kafka, error.args[0], told)) from error


def unreached(kafka: KafkaSettings, error: KafkaError, told: Sequence[KafkaError]) -> str:
    """In words, by the last cause that the client was `told`; its own `error` says of most only that it failed."""
    protocol = f"{PROTOCOL} is {kafka.security_protocol}"
    if shut := [one for one in told if one.code() in SETTINGS_OF]:
        last = shut[-1]
        look = f"{protocol}; look at it, and at {SETTINGS_OF[last.code()]}"
        return f"{kafka.bootstrap_server} does not let us in: {last.str()}. {look}"
    causes = [one for one in told if one.code() != KafkaError._ALL_BROKERS_DOWN]
    words = (
        f"no broker answers at {kafka.bootstrap_server} ({(causes or [error])[-1].str()}): start one with "
        f"`flagfall services up`, or set {variable('kafka_bootstrap_server')} to a running cluster"
    )
    if causes:
        return words
    look = f"{protocol}; look at {OF_PASSWORDS} and {OF_TLS}, too"
    return f"{words}. If one is there, it may want TLS or a password: {look}"

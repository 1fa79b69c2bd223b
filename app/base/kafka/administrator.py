"""A client for administration; one that has reached the cluster, or why none does; what a cluster answers to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from time import monotonic, sleep
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata

from app.base.errors import KafkaUnavailable
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.passing import passes
from app.base.setting_groups import KafkaSettings, variable

FIRST_ANSWER_SECONDS = 10.0
REQUEST_TIMEOUT_SECONDS = 30.0
FIRST_PATIENCE_SECONDS = 2.0
"""Of a question, which `asked` asks anew; twice as long each time that it had no answer, as of a slow cluster."""
POLL_SECONDS = 0.05
PROTOCOL = variable("kafka_security_protocol")
OF_PASSWORDS, OF_TLS = f"{variable('kafka_sasl')}_*", f"{variable('kafka_ssl')}_*"
SETTINGS_OF = {KafkaError._AUTHENTICATION: OF_PASSWORDS, KafkaError._SSL: OF_TLS}
"""By what librdkafka calls a door that stays shut: the settings that open it."""

Reply = TypeVar("Reply")


def admin_client(kafka: KafkaSettings, told: Callable[[KafkaError], None] | None = None) -> AdminClient:
    """It reports through exceptions and stays silent otherwise. `told`: called, while the client is polled, with what
    keeps it from the brokers; a client that is never polled keeps all of that."""
    options = {**librdkafka_options(kafka), "log_level": 0, "socket.timeout.ms": 10_000}
    return AdminClient(options if told is None else {**options, "error_cb": told})


def connected(kafka: KafkaSettings) -> tuple[AdminClient, ClusterMetadata]:
    """A client, and what the cluster tells whoever asks of brokers and of topics that it may see. It must outlive its
    answers, and is for one task: what goes wrong later is kept with it. Raises KafkaUnavailable."""
    deadline = monotonic() + FIRST_ANSWER_SECONDS
    while True:
        told = list[KafkaError]()
        admin = admin_client(kafka, told.append)
        try:
            cluster = admin.list_topics(timeout=FIRST_ANSWER_SECONDS)
        except KafkaException as error:
            admin.poll(0)
            raise KafkaUnavailable(unreached(kafka, error.args[0], told)) from error
        if cluster.brokers:
            return admin, cluster
        if monotonic() > deadline:
            raise KafkaUnavailable(f"{kafka.bootstrap_server} answers, and names no broker that its controller counts")
        sleep(POLL_SECONDS)


def asked(
    kafka: KafkaSettings,
    ask: Callable[[AdminClient, ClusterMetadata, float], Reply],
    otherwise: str,
    not_yet: Collection[int] = (),
) -> Reply:
    """What `ask` makes of the answers: it is given a client, what that was told of the cluster, and seconds.

    A failure that passes, or is `not_yet` the answer, is asked anew by a new client: one that a broker has told of no
    brokers, as one may that was frozen, forgets all it knew (librdkafka's issue 5301). Raises KafkaUnavailable, with
    what the cluster does `otherwise`.
    """
    deadline, patience_seconds = monotonic() + REQUEST_TIMEOUT_SECONDS, FIRST_PATIENCE_SECONDS
    while True:
        admin, cluster = connected(kafka)
        try:
            return ask(admin, cluster, patience_seconds)
        except (KafkaException, TimeoutError) as error:
            answered = isinstance(error, KafkaException)
            told = error.args[0] if answered else KafkaError(KafkaError._TIMED_OUT)
            if not (passes(told) or told.code() in not_yet) or monotonic() > deadline:
                raise KafkaUnavailable(f"{kafka.bootstrap_server} {otherwise}: {told.str()}") from error
        patience_seconds *= 1 if answered else 2
        sleep(POLL_SECONDS)


def told_by_each(kafka: KafkaSettings) -> list[ClusterMetadata]:
    """What each broker that is up tells of the cluster: for a moment they may differ. Raises KafkaUnavailable."""
    _, cluster = connected(kafka)
    addresses = [(f"[{b.host}]" if ":" in b.host else b.host, b.port) for b in cluster.brokers.values()]
    each = [kafka.model_copy(update={"bootstrap_server": f"{host}:{port}"}) for host, port in addresses]
    return [told for _, told in map(connected, each)]


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

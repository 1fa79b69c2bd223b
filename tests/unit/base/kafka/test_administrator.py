"""What a client is told that keeps it from the brokers, in words that name what to look at."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException
from pydantic import SecretStr

from app.base.errors import KafkaUnavailable
from app.base.kafka import administrator
from app.base.kafka.administrator import connected, unreached
from app.base.setting_groups import KafkaSettings
from tests.support.machine.ports import free_ports

KAFKA = KafkaSettings(
    bootstrap_server="one:9093",
    security_protocol="SASL_SSL",
    sasl_username="worker",
    sasl_password=SecretStr("hidden"),
)
FAILED = KafkaError(KafkaError._TRANSPORT, "Failed to get metadata: Local: Broker transport failure")
DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down")
PASSWORD = KafkaError(KafkaError._AUTHENTICATION, "one:9093/bootstrap: SASL authentication error: invalid credentials")
TLS = KafkaError(KafkaError._SSL, "one:9093/bootstrap: SSL handshake failed: certificate verify failed")
CUT = KafkaError(KafkaError._TRANSPORT, "one:9093/bootstrap: certificate verify failed")
REFUSED = KafkaError(KafkaError._TRANSPORT, "one:9093/bootstrap: Connect failed: Connection refused")
START = "start one with `flagfall services up`, or set FLAGFALL_KAFKA_BOOTSTRAP_SERVER to a running cluster"
PROTOCOL = "FLAGFALL_KAFKA_SECURITY_PROTOCOL is SASL_SSL; look at"


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (
            [TLS, PASSWORD, DOWN],
            f"one:9093 does not let us in: {PASSWORD.str()}. {PROTOCOL} it, and at FLAGFALL_KAFKA_SASL_*",
        ),
        ([TLS, CUT, DOWN], f"one:9093 does not let us in: {TLS.str()}. {PROTOCOL} it, and at FLAGFALL_KAFKA_SSL_*"),
        ([DOWN, REFUSED, DOWN], f"no broker answers at one:9093 ({REFUSED.str()}): {START}"),
        (
            [DOWN],
            f"no broker answers at one:9093 ({FAILED.str()}): {START}. If one is there, it may want TLS or a password: "
            f"{PROTOCOL} FLAGFALL_KAFKA_SASL_* and FLAGFALL_KAFKA_SSL_*, too",
        ),
    ],
    ids=["a wrong password", "another authority", "nobody there", "another protocol"],
)
def test_who_is_kept_out_is_told_the_last_cause_and_what_to_look_at(told: list[KafkaError], words: str) -> None:
    assert unreached(KAFKA, FAILED, told) == words


def test_a_client_that_gets_no_answer_is_given_up_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter(["told of no brokers", "asks anew"])
    monkeypatch.setattr(administrator, "connected", lambda _: (next(made), None))

    def ask(client: object, _: object, seconds: float) -> float:
        if client == "told of no brokers":
            Future[None]().result(0)
        return seconds

    assert administrator.asked(KAFKA, ask, "is silent") == 2 * administrator.FIRST_PATIENCE_SECONDS


def test_an_answer_that_comes_at_once_however_often_leaves_the_patience_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cluster may say for as long as 30 seconds, twenty times in each, that its coordinator is not there yet."""
    answers = [KafkaException(KafkaError(KafkaError.COORDINATOR_NOT_AVAILABLE))] * 100
    monkeypatch.setattr(administrator, "connected", lambda _: (None, None))
    monkeypatch.setattr(administrator, "sleep", lambda _: None)

    def ask(_: object, __: object, seconds: float) -> float:
        if answers:
            raise answers.pop()
        future = Future[float]()
        future.set_result(seconds)
        return future.result(seconds)

    assert administrator.asked(KAFKA, ask, "is silent") == administrator.FIRST_PATIENCE_SECONDS


@pytest.mark.parametrize(("code", "seconds"), [(KafkaError._TIMED_OUT, 0.0), (KafkaError.INVALID_REQUEST, 30.0)])
def test_what_stays_or_does_not_pass_is_told_of_the_cluster(
    code: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administrator, "REQUEST_TIMEOUT_SECONDS", seconds)
    monkeypatch.setattr(administrator, "connected", lambda _: (None, None))

    def ask(*_: object) -> None:
        raise KafkaException(KafkaError(code, "why"))

    with pytest.raises(KafkaUnavailable, match=r"^one:9093 is silent: why$"):
        administrator.asked(KAFKA, ask, "is silent")


def test_a_cluster_that_names_no_broker_yet_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [SimpleNamespace(brokers={}), SimpleNamespace(brokers={1: "one"})]
    monkeypatch.setattr(
        administrator, "admin_client", lambda *_: SimpleNamespace(list_topics=lambda timeout: told.pop(0))
    )
    _, cluster = connected(KAFKA)
    assert cluster.brokers == {1: "one"}


def test_what_the_client_is_told_of_an_address_where_nobody_listens_is_in_the_message() -> None:
    (nowhere,) = free_ports(1)
    with pytest.raises(KafkaUnavailable, match=rf"^no broker answers at 127\.0\.0\.1:{nowhere} \(.*Connection refused"):
        connected(KafkaSettings(bootstrap_server=f"127.0.0.1:{nowhere}"))

"""What a cluster says of its topics while its brokers do not know the same ones yet."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from app.base.errors import KafkaUnavailable
from app.base.kafka import administrator, topic_admin
from app.base.kafka.topic import Topic
from app.base.setting_groups import KafkaSettings

YELLOW = Topic("rides.yellow", "zone", "ride", partitions=2, replication_factor=1, cleanup="delete", help="rides")

ONE, OTHER = SimpleNamespace(id=1), SimpleNamespace(id=2)
CLUSTER = SimpleNamespace(topics={YELLOW.name: None})


class Brokers:
    """The first knows the topic; those that are asked to describe it fail with these codes first."""

    def __init__(self, *codes: int, more: dict[str, str] | None = None) -> None:
        self.codes, self.settings = list(codes), YELLOW.settings | (more or {})

    def describe_topics(self, _: object) -> dict[str, Future[Any]]:
        led = SimpleNamespace(id=0, leader=ONE, replicas=[ONE, OTHER], isr=[OTHER, ONE])
        unled = SimpleNamespace(id=1, leader=None, replicas=[OTHER, ONE], isr=[])
        return {YELLOW.name: self._answer(SimpleNamespace(partitions=[led, unled]))}

    def describe_configs(self, resources: list[Any]) -> dict[Any, Future[Any]]:
        future: Future[Any] = Future()
        future.set_result({name: SimpleNamespace(value=value) for name, value in self.settings.items()})
        return dict.fromkeys(resources, future)

    def _answer(self, told: object) -> Future[Any]:
        future: Future[Any] = Future()
        if self.codes:
            future.set_exception(KafkaException(KafkaError(self.codes.pop(0))))
        else:
            future.set_result(told)
        return future


def test_a_topic_that_another_broker_does_not_know_yet_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.NOT_CONTROLLER)
    monkeypatch.setattr(administrator, "connected", lambda _: (brokers, CLUSTER))
    (state,) = topic_admin.topic_states(KafkaSettings(), [YELLOW])
    assert (state.exists, state.differences, brokers.codes) == (True, (), [])


def test_who_has_a_partition_is_told_and_that_nobody_leads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administrator, "connected", lambda _: (Brokers(), CLUSTER))
    copies = topic_admin.described(KafkaSettings(), [YELLOW])[YELLOW.name].copies
    assert copies == {0: (1, (1, 2), (1, 2)), 1: (None, (2, 1), ())}


def test_a_topic_that_was_just_deleted_is_not_there_once_both_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = iter([CLUSTER, SimpleNamespace(topics={})])
    brokers = Brokers(KafkaError.UNKNOWN_TOPIC_OR_PART)
    monkeypatch.setattr(administrator, "connected", lambda _: (brokers, next(told)))
    (state,) = topic_admin.topic_states(KafkaSettings(), [YELLOW])
    assert not state.exists


def test_a_topic_is_made_once_every_broker_knows_that_it_is_led(monkeypatch: pytest.MonkeyPatch) -> None:
    there, leaderless = (
        SimpleNamespace(partitions=dict.fromkeys(range(2), SimpleNamespace(leader=n))) for n in (1, -1)
    )
    behind = [{}, {YELLOW.name: leaderless}, {YELLOW.name: there}]
    rounds = [[SimpleNamespace(topics={YELLOW.name: there}), SimpleNamespace(topics=second)] for second in behind]
    monkeypatch.setattr(topic_admin, "told_by_each", lambda _: rounds.pop(0))
    topic_admin.await_leaders(KafkaSettings(), {YELLOW.name: 2})
    assert rounds == []


def test_what_else_a_broker_answers_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = Brokers(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    monkeypatch.setattr(administrator, "connected", lambda _: (brokers, CLUSTER))
    with pytest.raises(KafkaUnavailable, match="does not describe its topics: "):
        topic_admin.topic_states(KafkaSettings(), [YELLOW])


@pytest.mark.parametrize(
    ("least", "differs"),
    [(604_800_000, ()), (1, ()), (604_800_001, ("has segment.ms=604800000, not 604800001 or more",))],
)
def test_what_may_be_more_differs_only_where_it_is_less(
    least: int, differs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administrator, "connected", lambda _: (Brokers(more={"segment.ms": "604800000"}), CLUSTER))
    (state,) = topic_admin.topic_states(KafkaSettings(), [replace(YELLOW, at_least={"segment.ms": least})])
    assert state.differences == differs


class Making:
    """Knows no topic until it has made it, which fails with these codes first."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)

    def create_topics(self, requests: list[Any], operation_timeout: float) -> dict[str, Future[Any]]:
        future: Future[Any] = Future()
        if self.codes:
            future.set_exception(KafkaException(KafkaError(self.codes.pop(0))))
        else:
            future.set_result(None)
        return {request.topic: future for request in requests}


@pytest.mark.parametrize(
    ("codes", "made"),
    [
        ([KafkaError.NOT_CONTROLLER], [YELLOW.name]),
        ([KafkaError.REQUEST_TIMED_OUT, KafkaError.TOPIC_ALREADY_EXISTS], []),
    ],
)
def test_a_topic_is_made_when_what_was_in_the_way_has_passed(codes: list[int], made: list[str]) -> None:
    assert topic_admin._create(Making(*codes), [YELLOW]) == made  # type: ignore[arg-type]


@pytest.mark.parametrize(("code", "seconds"), [(KafkaError.POLICY_VIOLATION, 30.0), (KafkaError.NOT_CONTROLLER, 0.0)])
def test_a_topic_that_cannot_be_made_is_told(code: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_admin, "REQUEST_TIMEOUT_SECONDS", seconds)
    with pytest.raises(KafkaUnavailable, match=r"topic rides\.yellow could not be created: "):
        topic_admin._create(Making(code), [YELLOW])  # type: ignore[arg-type]

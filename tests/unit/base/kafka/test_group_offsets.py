"""Where a consumer group goes on, as its coordinator tells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from app.base.kafka import cluster
from app.base.kafka.cluster import Cluster, ClusterError, NotAllowed
from app.base.setting_groups import KafkaSettings
from app.domain.records import TopicPartition

PLACES = [TopicPartition("windows.zone_demand", partition) for partition in range(3)]


class Group:
    """Answers what is next of `answers`: offsets by partition, or an error of the question or of its first place."""

    def __init__(self, *answers: list[int] | KafkaException | KafkaError) -> None:
        self.answers = list(answers)
        self.named = list[str]()

    def __call__(self, options: dict[str, Any]) -> Group:
        self.named.append(options["group.id"])
        return self

    def committed(self, asked: list[KafkaPartition], timeout: float) -> list[Any]:
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        offsets, error = (answer, None) if isinstance(answer, list) else ([OFFSET_INVALID] * 3, answer)
        told = zip(asked, offsets, [error, None, None], strict=True)
        return [SimpleNamespace(topic=at.topic, partition=at.partition, offset=to, error=why) for at, to, why in told]


def asking(monkeypatch: pytest.MonkeyPatch, *answers: list[int] | KafkaException | KafkaError) -> tuple[Cluster, Group]:
    group = Group(*answers)
    monkeypatch.setattr(cluster, "Consumer", group)
    monkeypatch.setattr(cluster, "ASK_AGAIN_SECONDS", 0.001)
    return Cluster(KafkaSettings()), group


def test_a_group_tells_what_it_has_committed_and_nothing_of_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, group = asking(monkeypatch, [7, OFFSET_INVALID, 0])
    assert asked.group_offsets("connect-demand", PLACES) == {PLACES[0]: 7, PLACES[2]: 0}
    assert group.named == ["connect-demand"]


@pytest.mark.parametrize("name", ["", "\0", "\0a"])
def test_what_ends_before_it_begins_names_no_group(name: str) -> None:
    """Of such a one the client's own code ends the process."""
    with pytest.raises(ClusterError, match="is no name of a consumer group"):
        Cluster(KafkaSettings()).group_offsets(name, PLACES)


@pytest.mark.parametrize("code", [KafkaError.COORDINATOR_LOAD_IN_PROGRESS, KafkaError._TIMED_OUT])
@pytest.mark.parametrize("kind", [KafkaError, lambda code: KafkaException(KafkaError(code))], ids=["place", "question"])
def test_a_coordinator_that_is_being_made_is_asked_again(kind: Any, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, group = asking(monkeypatch, kind(code), [1, 2, 3])
    assert asked.group_offsets("connect-demand", PLACES) == dict(zip(PLACES, [1, 2, 3], strict=True))
    assert len(group.named) == 2


def test_a_topic_that_a_group_may_not_be_asked_of_is_told_with_where_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    asked, _ = asking(monkeypatch, refused, refused)
    with pytest.raises(NotAllowed, match=r"^group connect-demand: .*uthorization.* `flagfall rights check`"):
        asked.group_offsets("connect-demand", PLACES)

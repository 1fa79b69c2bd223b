"""Logs that several transactional producers write to side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import cast

import pytest

from app.base.kafka import committed
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import LogSilent, await_decided
from app.domain.records import TopicPartition

PLACE = TopicPartition("advances", 0)


class Log:
    """Has ended at 10 and goes on; `stable`: where its last stable offset stands when it is asked for, in turn."""

    def __init__(self, *stable: int) -> None:
        self.stable: Iterator[int] = iter(stable)
        self.written = 10

    def log_ends(self, places: Collection[TopicPartition], *, committed: bool) -> dict[TopicPartition, int]:
        self.written += 5
        return dict.fromkeys(places, next(self.stable) if committed else self.written - 5)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "ASK_AGAIN_SECONDS", 0.0)


def test_what_was_there_is_waited_for_and_what_comes_meanwhile_is_not() -> None:
    log = Log(3, 3, 9, 11)
    await_decided(cast(Cluster, log), [PLACE])
    assert list(log.stable) == []


def test_a_transaction_that_nobody_ends_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committed, "OPEN_SECONDS", 0.0)
    with pytest.raises(LogSilent, match="advances-0: a transaction stays open"):
        await_decided(cast(Cluster, Log(*[3] * 1_000)), [PLACE])

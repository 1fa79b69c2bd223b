"""Before Spark is begun: are the topics of the sources there, and divided alike within each group?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from app.base.kafka.topic_admin import Described
from app.base.settings import Settings
from app.rides.shipped import SHIPPED
from spark_batch import reconcile
from spark_batch.errors import Invalid
from spark_batch.reconcile import _require_topics

EVEN = {topic.name: 4 for source in SHIPPED.sources for topic in source.topics}


def require(partitions: Mapping[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: Described(number, 1, {}) for name, number in partitions.items()}
    monkeypatch.setattr(reconcile, "described", lambda kafka, topics: known)
    monkeypatch.setattr(reconcile, "require_rights", lambda settings, catalogue, role: None)
    _require_topics(Settings(), SHIPPED.groups)


def test_topics_that_are_there_and_even_are_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    require(EVEN, monkeypatch)


def test_a_topic_that_was_deleted_leaves_nothing_to_compare_with(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {name: number for name, number in EVEN.items() if name != "rides.green"}
    with pytest.raises(Invalid, match=r"no topic rides\.green: deleted with the records of the tables, or not created"):
        require(there, monkeypatch)


def test_more_partitions_of_one_topic_are_told_though_no_worker_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Invalid, match=r"rides.green has 6.*flagfall widen"):
        require({**EVEN, "rides.green": 6}, monkeypatch)

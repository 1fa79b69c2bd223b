"""A table is looked at while finals are published, and its connector writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from app.base.kafka.cluster import TopicFacts
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.edge.cli.tables.connect_shown import TableVerdict, document, show, verdict
from app.edge.connectors import look as looking
from app.edge.connectors.columns import CellType, final_columns
from app.edge.connectors.frames import NoFinal, published
from app.edge.connectors.look import SinkTable, look
from app.rides.views import ZONE_DEMAND

COLUMNS = final_columns(ZONE_DEMAND)
VALUES: dict[CellType, Any] = {CellType.INTEGER: 1, CellType.TEXT: "x", CellType.INTEGERS: [1]}
TABLE = SinkTable(ZONE_DEMAND, "postgresql://taxi@127.0.0.1/taxi", "demand", "connect-demand")


def final(offset: int, zone: int, **others: Any) -> Any:
    told = {column.name: VALUES[column.type] for column in COLUMNS} | {"zone": zone} | others
    return record(offset, json.dumps(told).encode())


def record(offset: int, value: bytes | None) -> Any:
    said = {"value": value, "timestamp": (1, 0), "partition": 0, "offset": offset}
    return SimpleNamespace(**{name: lambda value=value: value for name, value in said.items()})


class Finals:
    """A topic of one partition, and a table that a connector keeps of it, which is `behind` by so many finals; with
    each look at the table another final has come."""

    def __init__(self, behind: int = 0) -> None:
        self.log = [final(offset, offset) for offset in range(3)]
        self.behind, self.looks = behind, 0
        self.forged: list[Any] = []

    def topics(self, names: Iterable[str]) -> dict[str, TopicFacts]:
        return {name: TopicFacts("id", 1) for name in names}

    def log_starts(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 0)

    def log_ends(self, places: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, len(self.log))

    def group_offsets(self, group: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        assert group == TABLE.group
        return dict.fromkeys(places, len(self.log) - self.behind)

    def committed(self, client: Any, topic: str, partition: int, start: int = 0) -> Iterator[Any]:
        yield from self.log[max(start, 0) :]

    def held(self, database: str, table: str, schema: Any) -> pl.DataFrame:
        self.looks += 1
        self.log.append(final(len(self.log), len(self.log)))
        return published([*self.log[: len(self.log) - self.behind], *self.forged], COLUMNS).finals.select(list(schema))


@pytest.fixture
def finals(monkeypatch: pytest.MonkeyPatch) -> Finals:
    there = Finals()
    monkeypatch.setattr(looking, "Cluster", lambda kafka: there)
    monkeypatch.setattr(looking, "committed", there.committed)
    monkeypatch.setattr(looking, "held", there.held)
    monkeypatch.setattr(looking, "other_columns", lambda *asked: [])
    monkeypatch.setattr(looking, "LOOKS_APART_SECONDS", 0.0)
    return there


def test_a_final_that_is_published_and_written_meanwhile_is_none_that_was_never_published(finals: Finals) -> None:
    seen = look(Settings(), TABLE, 60.0)
    assert (seen.found.is_right, seen.found.to_come, seen.found.equal, finals.looks) == (True, 0, 4, 1)


def test_only_finals_that_were_there_at_the_beginning_are_waited_for(finals: Finals) -> None:
    finals.behind = 2
    seen = look(Settings(), TABLE, 60.0)
    assert (seen.found.is_right, seen.found.to_come, seen.found.equal, finals.looks) == (True, 0, 3, 2)


def test_rows_that_say_that_they_are_newer_than_they_can_be_are_found(finals: Finals) -> None:
    finals.forged = [final(77, 900)]
    assert look(Settings(), TABLE, 60.0).found.foreign["zone"].to_list() == [900]


def test_rows_of_a_difference_are_shown_as_a_table_has_them(finals: Finals, capsys: pytest.CaptureFixture[str]) -> None:
    finals.forged = [final(77, 900, dearest_cents_values=None)]
    show(TABLE, look(Settings(), TABLE, 60.0))
    told = capsys.readouterr().out
    assert "1 rows were never published:\n  view=x  version=x  " in told
    assert "  zone=900  " in told
    assert "  dearest_cents_values=NULL  duration_minutes=[1]  " in told
    assert told.endswith("  published_at=1970-01-01 00:00:00\n")


@pytest.mark.parametrize("value", [None, b"", b"{}", b"[1]", b"no JSON", b'{"view": 1}'])
def test_a_record_that_is_no_final_is_told_and_neither_missed_nor_waited_for(
    finals: Finals, value: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    finals.log.append(record(3, value))
    seen = look(Settings(), TABLE, 60.0)
    assert (verdict(seen), seen.found.equal, finals.looks) == (TableVerdict.MATCH, 4, 1)
    assert seen.no_finals == [NoFinal(0, 3, is_empty=not value)]
    assert document(TABLE, seen)["no_finals"] == [{"partition": 0, "offset": 3, "is_empty": not value}]
    show(TABLE, seen)
    told = "is of another kind; the sink's task fails" if value else "is empty; the sink passes over it"
    assert f"windows.zone_demand-0 at 3 {told}" in capsys.readouterr().out


def test_a_connector_that_has_committed_nothing_yet_is_one_of_the_reasons_that_are_told(
    finals: Finals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    finals.behind = 3
    monkeypatch.setattr(Finals, "group_offsets", lambda *asked: {})
    seen = look(Settings(), TABLE, 0.0)
    assert verdict(seen) is TableVerdict.INCONCLUSIVE
    show(TABLE, seen)
    told = "the group connect-demand has no offsets. A connector that has just begun commits its first after a minute"
    assert f"{told}: ask again then" in capsys.readouterr().out

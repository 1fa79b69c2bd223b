"""Records told as runs of offsets: what stands between two of them, and how many rows they met."""

from __future__ import annotations

from dataclasses import replace

from app.domain.difference import ComparedRow, DifferenceKind, Fate, Witness
from app.domain.fingerprint import Origin, pack
from app.domain.naming.gathered import gathered
from app.domain.naming.row_difference import RowDifference
from app.domain.naming.runs import runs_of
from app.domain.records import Record
from app.domain.rows import RowKey
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND as VIEW
from tests.support.naming.plain import PlainEvidence

YELLOW, GREEN = 1, 2
ROW = ComparedRow(0, RowKey(0, (1,)), None, None, None)
TWICE = RowDifference(DifferenceKind.DOUBLED, ROW, ())


def at(*offsets: int, topic: int = YELLOW) -> list[int]:
    return [pack(Origin(topic, 0, offset)) for offset in offsets]


def told(named: list[int], among: list[int]) -> list[str]:
    return [str(run) for run in runs_of(RIDES, named, among)]


def test_offsets_without_a_record_that_counts_do_not_end_a_run() -> None:
    assert told(at(1, 2, 5, 9), at(0, 1, 2, 5, 9, 10)) == ["rides.yellow[0] offsets 1-9, 4 records"]


def test_a_record_that_is_not_named_ends_a_run() -> None:
    found = told(at(1, 2, 5, 9), at(0, 1, 2, 4, 5, 9))
    assert found == ["rides.yellow[0] offsets 1-2, 2 records", "rides.yellow[0] offsets 5-9, 2 records"]


def test_of_what_was_not_looked_at_only_neighbours_are_a_run() -> None:
    assert told(at(1, 2, 5), []) == ["rides.yellow[0] offsets 1-2, 2 records", "rides.yellow[0] offset 5"]


def test_each_topic_has_runs_of_its_own() -> None:
    both = [*at(1, 2), *at(3, 4, topic=GREEN)]
    assert told(both, both) == ["rides.yellow[0] offsets 1-2, 2 records", "rides.green[0] offsets 3-4, 2 records"]


def test_a_batch_that_met_many_rows_is_one_run() -> None:
    records = [Record("rides.yellow", 0, offset, 0, {}) for offset in (*range(0, 20, 2), 30)]
    evidence = PlainEvidence(VIEW, [Witness(record, ROW.key, Fate.APPLIED) for record in records])
    batch = at(*range(4, 18, 2))
    rows = [replace(TWICE, changes=dict.fromkeys(batch[i::3], 1)) for i in range(3)]
    lost = replace(TWICE, kind=DifferenceKind.LOST, changes={at(30)[0]: -1})
    found = [(one.kind.value, str(one.run), one.row_count) for one in gathered(VIEW, [*rows, lost], evidence)]
    assert found == [
        ("DOUBLED", "rides.yellow[0] offsets 4-16, 7 records", 3),
        ("LOST", "rides.yellow[0] offset 30", 1),
    ]

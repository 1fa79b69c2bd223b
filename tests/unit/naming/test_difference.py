"""Which side is at fault, and which evidence is not believed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from app.domain.difference import ComparedRow, DifferenceKind, Fate, RowPlace, Witness, unequal
from app.domain.fingerprint import Origin, pack
from app.domain.naming import claims
from app.domain.naming.accused import RowRecords
from app.domain.naming.claims import OUTLIVED, TOO_MANY, TOO_MANY_FOR_TWO, suspected
from app.domain.naming.named import LISTED, NOT_CONFIRMED, name_rows
from app.domain.naming.row_difference import RowDifference
from app.domain.records import Record, Value
from app.domain.rows import Cells, RowKey
from app.rides.ride import RIDE_COLUMNS
from app.rides.views import ZONE_DEMAND as VIEW
from tests.support.material.histories import START_US
from tests.support.naming.plain import PlainEvidence, row_of

KEY = RowKey(START_US, (132,))
OTHER_KEY = RowKey(START_US, (133,))
FARE = 4


def ride(offset: int) -> Record:
    values: dict[str, Value] = dict.fromkeys(column.name for column in RIDE_COLUMNS)
    told: dict[str, Value] = {
        "pickup_at_us": START_US,
        "fare_cents": 100 + offset,
        "pickup_zone": 132,
        "ride_id": f"{offset:032x}",
    }
    return Record("rides.yellow", 0, offset, 0, {**values, **told})


def row(*records: Record) -> Cells:
    return row_of(VIEW, records)


def altered(cells: Cells) -> Cells:
    return (*cells[:FARE], cells[FARE] + 1, *cells[FARE + 1 :])


A, B, C, D = (ride(offset) for offset in (1, 2, 4, 7))
BOTH, ONLY_A = row(A, B), row(A)
AT_B = Origin(1, 0, 2)
IS_A, IS_B, IS_C, IS_D = (Witness(one, KEY, Fate.APPLIED) for one in (A, B, C, D))


def differences(seen: ComparedRow, known: Iterable[Witness] = (IS_A, IS_B)) -> list[RowDifference]:
    return name_rows(VIEW, [seen], PlainEvidence(VIEW, known))


def of_both(stored: Cells | None, right: Cells | None) -> ComparedRow:
    return ComparedRow(0, KEY, stored, stored, right)


def test_live_and_log_apart_with_one_of_them_right_is_the_store_alone() -> None:
    for live, changelog in ((ONLY_A, BOTH), (BOTH, ONLY_A)):
        (one,) = differences(ComparedRow(0, KEY, live, changelog, BOTH))
        assert (one.kind, one.records, one.is_residual) == (DifferenceKind.STORE, (IS_B,), False)


def test_a_store_that_lost_a_record_and_has_other_values_accuses_no_record() -> None:
    (one,) = differences(ComparedRow(0, KEY, altered(ONLY_A), BOTH, BOTH))
    assert (one.kind, one.records) == (DifferenceKind.STORE, ())


def test_three_sides_apart_are_two_faults() -> None:
    found = differences(ComparedRow(0, KEY, None, ONLY_A, BOTH))
    assert [one.kind for one in found] == [DifferenceKind.STORE, DifferenceKind.LOST]


@pytest.mark.parametrize(("live", "changelog"), [(BOTH, None), (None, BOTH)])
def test_a_row_gone_from_one_stored_side_alone_is_a_fault_of_the_store(
    live: Cells | None, changelog: Cells | None
) -> None:
    (one,) = differences(ComparedRow(0, KEY, live, changelog, BOTH))
    assert one.kind is DifferenceKind.STORE


@pytest.mark.parametrize(
    "witness",
    [
        None,
        replace(IS_B, key=OTHER_KEY),
        replace(IS_B, key=None, fate=Fate.OUT_OF_SCOPE),
        replace(IS_B, fate=Fate.LATE),
    ],
)
def test_an_accused_record_that_does_not_belong_to_the_row_is_not_believed(witness: Witness | None) -> None:
    (one,) = differences(of_both(ONLY_A, BOTH), [IS_A] if witness is None else [IS_A, witness])
    assert (one.kind, one.is_residual) == (DifferenceKind.UNNAMED, True)


def test_only_origins_of_the_rows_own_task_are_accused() -> None:
    assert suspected(VIEW, of_both(ONLY_A, BOTH)) == pack(AT_B)
    assert suspected(VIEW, replace(of_both(ONLY_A, BOTH), partition=1)) is None


def test_what_a_named_record_leaves_unexplained_is_residual() -> None:
    (one,) = differences(of_both(altered(ONLY_A), BOTH))
    assert (one.kind, one.records, one.unexplained) == (DifferenceKind.LOST, (IS_B,), (VIEW.cells[FARE],))


def test_what_a_named_run_leaves_unexplained_is_residual() -> None:
    (one,) = differences(of_both(altered(row(A, D)), row(A, B, C, D)), [IS_A, IS_B, IS_C, IS_D])
    assert (one.kind, one.records, one.unexplained) == (DifferenceKind.LOST, (IS_B, IS_C), (VIEW.cells[FARE],))


def test_two_records_are_named_only_if_they_explain_all() -> None:
    """Among a million records are half a billion pairs for each run; chance is believed that much less."""
    (one,) = differences(of_both(altered(row(B, D)), row(A, B, C, D)), [IS_A, IS_B, IS_C, IS_D])
    assert (one.kind, one.records, one.why) == (DifferenceKind.UNNAMED, (), NOT_CONFIRMED)
    assert one.unexplained == one.cells


def test_a_run_may_not_go_on_in_another_topic() -> None:
    """Two records that stand side by side in the row, each in a topic of its own, are two records."""
    other = replace(B, topic="rides.green")
    known = [IS_A, Witness(other, KEY, Fate.APPLIED), IS_D]
    (one,) = differences(of_both(row(A), row(A, D, other)), known)
    assert [run.record_count for run in one.runs] == [1, 1]


def test_a_made_up_row_has_no_records() -> None:
    (one,) = differences(of_both(BOTH, None), [])
    assert (one.kind, one.records, one.unexplained) == (DifferenceKind.UNNAMED, (), one.cells)


@pytest.mark.parametrize("known", [[IS_A], [IS_A, IS_B]])
def test_a_row_that_should_have_left_the_table_has_not_doubled_its_records(known: list[Witness]) -> None:
    stored = row(*(one.record for one in known))
    (one,) = differences(of_both(stored, None), known)
    assert (one.kind, one.why, one.is_residual) == (DifferenceKind.UNNAMED, OUTLIVED, True)


def test_a_row_of_late_records_alone_was_made_of_them() -> None:
    late = [replace(IS_A, fate=Fate.LATE), replace(IS_B, fate=Fate.LATE)]
    (one,) = differences(of_both(BOTH, None), late)
    assert (one.kind, list(one.records), one.is_residual) == (DifferenceKind.LATE_APPLIED, late, False)


def test_other_values_that_the_workers_translator_makes_of_the_records_are_its_logic() -> None:
    def mistaken(view: object, records: Iterable[Record]) -> Cells:
        return altered(row(*records))

    evidence = PlainEvidence(VIEW, [IS_A, IS_B], mistaken)
    (one,) = name_rows(VIEW, [of_both(altered(BOTH), BOTH)], evidence)
    assert (one.kind, one.cells, one.is_residual) == (DifferenceKind.LOGIC, (VIEW.cells[FARE],), False)
    (one,) = name_rows(VIEW, [of_both(altered(altered(BOTH)), BOTH)], evidence)
    assert one.kind is DifferenceKind.ALTERED


def test_a_row_with_too_many_records_is_unnamed_and_says_so() -> None:
    class Bounded(PlainEvidence):
        def records_of(self, *_: object) -> Mapping[RowPlace, RowRecords]:
            return {}

    (one,) = name_rows(VIEW, [of_both(ONLY_A, row(A, B, C))], Bounded(VIEW, [IS_A, IS_B, IS_C]))
    assert (one.kind, one.why, one.is_residual) == (DifferenceKind.UNNAMED, TOO_MANY, True)
    (one,) = name_rows(VIEW, [of_both(None, BOTH)], Bounded(VIEW, [IS_A, IS_B]))
    assert (one.kind, one.record_count, one.records, one.is_residual) == (DifferenceKind.LOST, 2, (), False)


def test_two_are_looked_for_among_so_many_records_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MOST_FOR_TWO", 3)
    known = [IS_A, IS_B, IS_C, IS_D]
    (one,) = differences(of_both(row(B, D), row(A, B, C, D)), known)
    assert (one.kind, one.why) == (DifferenceKind.UNNAMED, TOO_MANY_FOR_TWO)


def test_no_more_records_are_listed_than_a_reader_looks_at() -> None:
    many = [Witness(ride(offset), KEY, Fate.APPLIED) for offset in range(0, 500, 2)]
    stored, right = row(*(one.record for one in many[:100])), row(*(one.record for one in many))
    (one,) = differences(of_both(stored, right), many)
    assert (one.kind, one.record_count, len(one.records)) == (DifferenceKind.LOST, 150, LISTED)
    assert [str(run) for run in one.runs] == ["rides.yellow[0] offsets 200-498, 150 records"]


def test_a_row_that_is_there_but_neutral_still_differs_from_none() -> None:
    assert unequal(VIEW, VIEW.neutral, None) == ("row",)

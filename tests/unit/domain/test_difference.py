"""Which side is at fault, and which evidence is not believed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.contribution import contribution
from app.domain.difference import ComparedRow, DifferenceKind, Fate, Witness, accused, differences, settled, unequal
from app.domain.fingerprint import Origin
from app.domain.records import Record, Value
from app.domain.rows import Cells, RowKey, merge_rows
from app.rides.ride import RIDE_COLUMNS
from app.rides.views import ZONE_DEMAND as VIEW
from tests.support.material.histories import START_US

KEY = RowKey(START_US, (132,))
OTHER_KEY = RowKey(START_US, (133,))


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
    return merge_rows(VIEW, (contribution(VIEW, record) for record in records))


A, B = ride(1), ride(2)
BOTH, ONLY_A = row(A, B), row(A)
AT_B = Origin(1, 0, 2)
IS_B = Witness(B, KEY, Fate.APPLIED)


def test_live_and_log_apart_with_one_of_them_right_is_the_store_alone() -> None:
    for live, changelog in ((ONLY_A, BOTH), (BOTH, ONLY_A)):
        (one,) = differences(VIEW, ComparedRow(0, KEY, live, changelog, BOTH), {AT_B: IS_B})
        assert (one.kind, one.records) == (DifferenceKind.STORE, (IS_B,))


def test_three_sides_apart_are_two_faults() -> None:
    found = differences(VIEW, ComparedRow(0, KEY, None, ONLY_A, BOTH), {AT_B: IS_B})
    assert [one.kind for one in found] == [DifferenceKind.STORE, DifferenceKind.LOST]


def test_a_row_gone_from_the_log_alone_is_a_fault_of_the_store() -> None:
    (one,) = differences(VIEW, ComparedRow(0, KEY, BOTH, None, BOTH), {})
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
    known = {} if witness is None else {AT_B: witness}
    (one,) = differences(VIEW, ComparedRow(0, KEY, ONLY_A, ONLY_A, BOTH), known)
    assert (one.kind, one.is_residual) == (DifferenceKind.UNNAMED, True)


def test_only_origins_of_the_rows_own_task_are_accused() -> None:
    assert accused(VIEW, ComparedRow(0, KEY, ONLY_A, ONLY_A, BOTH)) == AT_B
    assert accused(VIEW, ComparedRow(1, KEY, ONLY_A, ONLY_A, BOTH)) is None


def test_what_a_named_record_leaves_unexplained_is_residual() -> None:
    broken = (*ONLY_A[:4], ONLY_A[4] + 1, *ONLY_A[5:])
    (claim,) = differences(VIEW, ComparedRow(0, KEY, broken, broken, BOTH), {AT_B: IS_B})
    assert settled(VIEW, claim, ONLY_A).unexplained == (VIEW.cells[4],)


def test_a_row_that_is_there_but_neutral_still_differs_from_none() -> None:
    assert unequal(VIEW, VIEW.neutral, None) == ("row",)

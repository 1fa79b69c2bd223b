"""What a run can set right, and why it leaves a row alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.corrections.corrected import Applied, fold_corrections
from app.domain.corrections.correction import Correction
from app.domain.corrections.repair import REMEDIES, RepairPlan, Unrepaired, plan_repairs
from app.domain.difference import ComparedRow, DifferenceKind
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.naming.row_difference import RowDifference
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.material.histories import START_US
from tests.support.material.stored.tables import cells_of
from tests.support.material.views import SHIFTS

DAY_US = 86_400_000_000
KEY = RowKey(START_US, (132,))
WRONG, RIGHT = cells_of(ZONE_DEMAND, 1), cells_of(ZONE_DEMAND, 2)


def planned(
    *found: RowDifference,
    view: View = ZONE_DEMAND,
    watermark_us: int = START_US + DAY_US,
    expired_to_us: int | None = None,
) -> RepairPlan:
    inputs = {topic.name: InputPosition("id", 0, 9, watermark_us=watermark_us) for topic in view.source.topics}
    position = ViewPosition(view.number, view.version, expired_to_us=expired_to_us)
    return plan_repairs(view, {0: Marker("app", 1, 0, 1, inputs, {view.name: position})}, found)


def differing(
    kind: DifferenceKind = DifferenceKind.LOST,
    stored: Cells | None = WRONG,
    right: Cells | None = RIGHT,
    *,
    key: RowKey = KEY,
    changelog: Cells | None = WRONG,
    unexplained: tuple[str, ...] = (),
) -> RowDifference:
    return RowDifference(kind, ComparedRow(0, key, stored, changelog, right), ("count",), unexplained=unexplained)


@pytest.mark.parametrize("kind", ["LOST", "DOUBLED", "LATE_APPLIED", "ALTERED"])
def test_a_row_of_an_explained_fault_is_set_to_what_its_records_make_it(kind: str) -> None:
    plan = planned(differing(DifferenceKind(kind)))
    (one,) = plan.repairs
    assert (one.partition, one.correction.key, one.correction.expected, one.correction.row) == (0, KEY, WRONG, RIGHT)
    assert (one.correction.version, one.correction.adds, plan.left) == (ZONE_DEMAND.version, (), {})


def test_a_row_that_is_missing_is_put_in_and_one_that_was_made_up_is_taken_out() -> None:
    missing = differing(stored=None, changelog=None)
    made_up = differing(DifferenceKind.DOUBLED, right=None, key=RowKey(START_US, (7,)))
    plan = planned(missing, made_up)
    assert [(one.correction.expected, one.correction.row) for one in plan.repairs] == [(None, RIGHT), (WRONG, None)]


def test_two_faults_of_one_row_are_one_correction() -> None:
    assert len(planned(differing(), differing(DifferenceKind.DOUBLED)).repairs) == 1


def test_a_row_that_was_changed_where_it_is_stored_is_set_though_no_record_explains_it() -> None:
    """By its blocks the task applied what it should have, so there is no doubt about the row."""
    (one,) = planned(differing(DifferenceKind.STORE, unexplained=("count",))).repairs
    assert (one.correction.expected, one.correction.row) == (WRONG, RIGHT)
    both = planned(differing(DifferenceKind.STORE), differing(DifferenceKind.UNNAMED, unexplained=("count",)))
    assert both == RepairPlan([], {Unrepaired.UNEXPLAINED: 1})


LEFT = {
    Unrepaired.UNEXPLAINED: planned(differing(unexplained=("fare_cents",))),
    Unrepaired.STORE: planned(differing(DifferenceKind.STORE, changelog=RIGHT)),
    Unrepaired.CHANGELOG: planned(differing(DifferenceKind.STORE, stored=RIGHT)),
    Unrepaired.BOTH: planned(differing(DifferenceKind.STORE, changelog=None)),
    Unrepaired.LOGIC: planned(differing(DifferenceKind.LOGIC)),
    Unrepaired.ALL_TIME: planned(differing(key=RowKey(None, (1,))), view=VENDOR_TRIPS),
    Unrepaired.MERGING: planned(differing(), view=SHIFTS),
    Unrepaired.OPEN: planned(differing(), watermark_us=START_US),
    Unrepaired.EXPIRED: planned(differing(), expired_to_us=START_US + DAY_US),
}
GONE_US = START_US + ZONE_DEMAND.window.size_us + ZONE_DEMAND.grace_us + ZONE_DEMAND.retention_us


@pytest.mark.parametrize("why", list(Unrepaired))
def test_a_row_that_no_correction_can_set_is_left_alone_with_the_reason(why: Unrepaired) -> None:
    assert LEFT[why] == RepairPlan([], {why: 1})
    assert REMEDIES[why]


@pytest.mark.parametrize(("watermark_us", "is_gone"), [(GONE_US - 1, False), (GONE_US, True)])
def test_a_row_whose_retention_is_over_is_left_alone_whether_or_not_it_has_been_taken_out(
    watermark_us: int, is_gone: bool
) -> None:
    plan = planned(differing(), watermark_us=watermark_us)
    assert plan.left == ({Unrepaired.EXPIRED: 1} if is_gone else {})


def test_one_unexplained_fault_of_a_row_leaves_it_alone_whatever_else_is_explained() -> None:
    unnamed = differing(DifferenceKind.UNNAMED, unexplained=("count",))
    assert planned(differing(), unnamed) == RepairPlan([], {Unrepaired.UNEXPLAINED: 1})


def test_a_repair_fits_rows_that_records_make_and_one_that_sets_others_does_not() -> None:
    """Recomputed rows never were what it expected, and are what it set."""
    repair = Correction("run", "zone_demand", "v", KEY, WRONG, RIGHT)
    rows = {(0, KEY): RIGHT}
    assert fold_corrections(ZONE_DEMAND, rows, [Applied(0, 1, repair), Applied(0, 2, repair)]) == []
    assert rows == {(0, KEY): RIGHT}
    gone = Applied(0, 3, replace(repair, row=None))
    assert fold_corrections(ZONE_DEMAND, rows, [gone]) == [gone]
    assert fold_corrections(ZONE_DEMAND, {}, [Applied(0, 1, replace(repair, row=None))]) == []
    wrong = Applied(0, 1, replace(repair, row=WRONG))
    assert fold_corrections(ZONE_DEMAND, dict(rows), [wrong]) == [wrong]

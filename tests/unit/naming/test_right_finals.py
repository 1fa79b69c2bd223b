"""A repair leaves the finals alone that were published before a row of theirs went wrong."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from app.codecs.stored.corrections import correction_bytes, read_correction
from app.domain.corrections.correction import Correction
from app.domain.corrections.finals import MOST_TOGETHER, FinalsHeld, FinalSides, final_keys, finals_held
from app.domain.difference import ComparedRow
from app.domain.measures.kinds import Max, Sum
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.windows.hopping import Hopping
from app.testkit.simulation.parcels import HUB_LOAD
from app.testkit.simulation.samples import START_US

VIEW = replace(HUB_LOAD, measures=(Sum("grams", "weight_grams"), Max("heaviest", "weight_grams")))
HOPS = replace(VIEW, window=Hopping("scanned_at_us", size_seconds=1200, step_seconds=600))
KEY = RowKey(START_US, (1,))


def cells(grams: int, heaviest: int) -> Cells:
    """Of one record, whatever its fingerprint."""
    return (1, grams, grams, 1, heaviest, 1)


RIGHT = [cells(5 + task, 5 + task) for task in range(3)]
WRONG = [cells(500 + 10 * task, 5 + task) for task in range(3)]
ROWS = [ComparedRow(task, KEY, WRONG[task], WRONG[task], RIGHT[task]) for task in range(3)]
DUE = merge_rows(VIEW, RIGHT)


@pytest.mark.parametrize("wrong_before", [(), (0,), (2,), (0, 1), (0, 1, 2)])
def test_a_final_holds_the_faults_that_there_were_when_it_was_published(wrong_before: tuple[int, ...]) -> None:
    published = merge_rows(VIEW, [(WRONG if task in wrong_before else RIGHT)[task] for task in range(3)])
    found = finals_held(VIEW, ROWS, {KEY: FinalSides(published, DUE)})
    assert found == FinalsHeld({row.place: [START_US] for row in ROWS if row.partition not in wrong_before}, [])


def test_a_final_that_was_changed_otherwise_is_left_alone_and_told_and_one_that_is_to_come_is_not() -> None:
    other = FinalSides((7, *DUE[1:]), DUE)
    assert finals_held(VIEW, ROWS, {KEY: other}) == FinalsHeld({row.place: [START_US] for row in ROWS}, [KEY])
    assert finals_held(VIEW, ROWS, {}) == FinalsHeld({}, [])


@pytest.mark.parametrize("heaviest", [17, 25, 41])
def test_a_greatest_value_that_the_row_lacks_is_in_the_final_again(heaviest: int) -> None:
    others, right, wrong = cells(100, 25), cells(41, heaviest), cells(0, 17)
    row = ComparedRow(0, KEY, wrong, wrong, right)
    sides = FinalSides(merge_rows(VIEW, [wrong, others]), merge_rows(VIEW, [right, others]))
    assert finals_held(VIEW, [row], {KEY: sides}) == FinalsHeld({}, [])


def test_a_greatest_value_that_the_row_has_wrongly_is_held_though_no_revision_can_take_it_back() -> None:
    others, right, wrong = cells(100, 25), cells(5, 5), cells(90, 90)
    row = ComparedRow(0, KEY, wrong, wrong, right)
    sides = FinalSides(merge_rows(VIEW, [wrong, others]), merge_rows(VIEW, [right, others]))
    assert finals_held(VIEW, [row], {KEY: sides}) == FinalsHeld({}, [])


@pytest.mark.parametrize("before", [0, 5, 9, 12, MOST_TOGETHER])
def test_of_two_dozen_rows_those_that_went_wrong_before_are_found(before: int) -> None:
    sides = [(cells(1 << task, 1), cells(0, 1)) for task in range(MOST_TOGETHER)]
    rows = [ComparedRow(task, KEY, wrong, wrong, right) for task, (right, wrong) in enumerate(sides)]
    due = merge_rows(VIEW, [right for right, _ in sides])
    published = merge_rows(VIEW, [wrong if task < before else right for task, (right, wrong) in enumerate(sides)])
    found = finals_held(VIEW, rows, {KEY: FinalSides(published, due)})
    assert found == FinalsHeld({row.place: [START_US] for row in rows[before:]}, [])


def test_of_more_rows_only_none_and_all_are_tried() -> None:
    many = [ComparedRow(task, KEY, cells(9, 1), cells(9, 1), cells(1, 1)) for task in range(MOST_TOGETHER + 1)]
    due, published = (merge_rows(VIEW, [side] * len(many)) for side in (cells(1, 1), cells(9, 1)))
    assert finals_held(VIEW, many, {KEY: FinalSides(published, due)}) == FinalsHeld({}, [])
    assert len(finals_held(VIEW, many, {KEY: FinalSides(due, due)}).right) == len(many)
    some = merge_rows(VIEW, [published, *(cells(-8, 1) for _ in range(3))])
    assert finals_held(VIEW, many, {KEY: FinalSides(some, due)}).unclear == [KEY]


def test_rows_that_are_off_by_the_same_are_told_apart_by_no_final_and_need_not_be() -> None:
    alike = [ComparedRow(task, KEY, cells(9, 9), cells(9, 9), cells(1, 9)) for task in range(MOST_TOGETHER)]
    due = merge_rows(VIEW, [cells(1, 9)] * MOST_TOGETHER)
    published = merge_rows(VIEW, [cells(9, 9)] * 11 + [cells(1, 9)] * (MOST_TOGETHER - 11))
    found = finals_held(VIEW, alike, {KEY: FinalSides(published, due)})
    assert (len(found.right), found.unclear) == (MOST_TOGETHER - 11, [])


def test_a_row_of_windows_that_overlap_is_in_the_finals_of_all_of_them() -> None:
    first_us = START_US - 600 * 1_000_000
    pane = RowKey(START_US, (first_us, 1))
    windows = [RowKey(first_us, (1,)), RowKey(START_US, (1,))]
    assert list(final_keys(HOPS, pane)) == windows
    row = ComparedRow(0, pane, WRONG[0], WRONG[0], RIGHT[0])
    sides = {windows[0]: FinalSides(RIGHT[0], RIGHT[0]), windows[1]: FinalSides(WRONG[0], RIGHT[0])}
    assert finals_held(HOPS, [row], sides) == FinalsHeld({row.place: [first_us]}, [])


def test_a_correction_says_which_finals_are_right_and_nothing_where_there_are_none() -> None:
    one = Correction("run", VIEW.name, VIEW.version, KEY, WRONG[0], RIGHT[0], right_finals=(START_US,))
    assert read_correction(correction_bytes(one)) == one
    plain = correction_bytes(replace(one, right_finals=()))
    assert "right_finals" not in orjson.loads(plain)
    told = orjson.loads(correction_bytes(one)) | {"right_finals": ["soon"]}
    assert read_correction(orjson.dumps(told)) is None

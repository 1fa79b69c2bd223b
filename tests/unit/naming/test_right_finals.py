"""A repair leaves the finals alone that were published before a row of theirs went wrong."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from app.codecs.stored.corrections import correction_bytes, read_correction
from app.domain.corrections.correction import Correction
from app.domain.corrections.finals import MOST_TOGETHER, FinalSides, final_keys, finals_without
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
    found = finals_without(VIEW, ROWS, {KEY: FinalSides(published, DUE)})
    assert found == {row.place: [START_US] for row in ROWS if row.partition not in wrong_before}


def test_a_final_that_was_changed_otherwise_is_left_alone_and_one_that_is_to_come_is_not() -> None:
    other = FinalSides((7, *DUE[1:]), DUE)
    assert finals_without(VIEW, ROWS, {KEY: other}) == {row.place: [START_US] for row in ROWS}
    assert finals_without(VIEW, ROWS, {}) == {}


def test_of_many_rows_only_none_and_all_are_tried() -> None:
    many = [ComparedRow(task, KEY, cells(9, 1), cells(9, 1), cells(1, 1)) for task in range(MOST_TOGETHER + 1)]
    due, published = (merge_rows(VIEW, [side] * len(many)) for side in (cells(1, 1), cells(9, 1)))
    assert finals_without(VIEW, many, {KEY: FinalSides(published, due)}) == {}
    assert len(finals_without(VIEW, many, {KEY: FinalSides(due, due)})) == len(many)


def test_a_row_of_windows_that_overlap_is_in_the_finals_of_all_of_them() -> None:
    first_us = START_US - 600 * 1_000_000
    pane = RowKey(START_US, (first_us, 1))
    windows = [RowKey(first_us, (1,)), RowKey(START_US, (1,))]
    assert list(final_keys(HOPS, pane)) == windows
    row = ComparedRow(0, pane, WRONG[0], WRONG[0], RIGHT[0])
    sides = {windows[0]: FinalSides(RIGHT[0], RIGHT[0]), windows[1]: FinalSides(WRONG[0], RIGHT[0])}
    assert finals_without(HOPS, [row], sides) == {row.place: [first_us]}


def test_a_correction_says_which_finals_are_right_and_nothing_where_there_are_none() -> None:
    one = Correction("run", VIEW.name, VIEW.version, KEY, WRONG[0], RIGHT[0], right_finals=(START_US,))
    assert read_correction(correction_bytes(one)) == one
    plain = correction_bytes(replace(one, right_finals=()))
    assert "right_finals" not in orjson.loads(plain)
    told = orjson.loads(correction_bytes(one)) | {"right_finals": ["soon"]}
    assert read_correction(orjson.dumps(told)) is None

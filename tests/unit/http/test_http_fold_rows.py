"""The fold behind every query equals the naive merge of the domain, row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.fingerprint import INT64_MAX, INT64_MIN
from app.domain.measures.kinds import Count, First, Last, Max, Min, Sum
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from app.edge.http.rows.fold_rows import concatenated, key_at, merged, page
from app.rides.ride import RIDES
from tests.support.material.stored.tables import in_order, merge_tables, state_of

PANE_US = 300_000_000
MEASURES = (
    Count("rides"), Sum("tip", "tip_cents"), Min("least", "fare_cents"), Max("most", "fare_cents"),
    First("first", "duration_us"), Last("last", "duration_us"),
)  # fmt: skip
GROUPS = (Group("base", "dispatching_base"), Group("zone", "pickup_zone"))
BY_BASE = View(91, "by_base", RIDES, GROUPS, Tumbling("pickup_at_us", 300), MEASURES, 60, 0, "Text and zone.")
ALL_TIME = View(92, "all_time", RIDES, GROUPS, AllTime(), MEASURES, 0, 0, "Without a window.")
UNGROUPED = View(93, "ungrouped", RIDES, (), Tumbling("pickup_at_us", 300), MEASURES, 0, 0, "One row a pane.")

cells = st.sampled_from([0, 1, -1, 7, INT64_MAX, INT64_MIN])
bases, zones = st.sampled_from([None, "", "B1", "B2", "ä"]), st.sampled_from([None, 1, 2, 265])


def tables(view: View) -> st.SearchStrategy[list[dict[RowKey, tuple[int, ...]]]]:
    """A few tasks' rows; few keys, so that they meet."""
    windows = st.integers(-3, 6).map(lambda pane: pane * PANE_US) if view.window != AllTime() else st.none()
    groups = st.tuples(bases, zones) if view.groups else st.just(())
    keys = st.builds(RowKey, windows, groups)
    return st.lists(st.dictionaries(keys, st.tuples(*[cells] * len(view.cells)), max_size=8), min_size=1, max_size=3)


def fold(view: View, tasks: list[Any], window_us: int | None) -> Any:
    return merged(view, concatenated([state_of(view, rows).select() for rows in tasks]), window_us)


def as_dict(rows: Any) -> dict[RowKey, tuple[int, ...]]:
    return {key_at(rows, at): tuple(rows.cells[at].tolist()) for at in range(len(rows))}


@pytest.mark.parametrize("view", [BY_BASE, ALL_TIME, UNGROUPED], ids=lambda view: view.name)
@given(data=st.data(), panes=st.integers(1, 4))
def test_merged_rows_equal_the_naive_merge_in_order(view: View, data: st.DataObject, panes: int) -> None:
    tasks = data.draw(tables(view))
    window_us = panes * PANE_US if view.window.panes else None
    rows = fold(view, tasks, window_us)
    expected = merge_tables(view, tasks, window_us)
    assert as_dict(rows) == expected
    assert [key_at(rows, at) for at in range(len(rows))] == in_order(list(expected))


@given(tasks=tables(BY_BASE), limit=st.integers(1, 5), newest_first=st.booleans())
def test_pages_cover_every_row_once_in_either_order(tasks: Any, limit: int, newest_first: bool) -> None:
    rows = fold(BY_BASE, tasks, PANE_US)
    seen: list[RowKey] = []
    while len(taken := page(rows, seen[-1] if seen else None, limit, newest_first=newest_first)):
        seen += [key_at(taken, at) for at in range(len(taken))]
    everything = [key_at(rows, at) for at in range(len(rows))]
    assert seen == (everything[::-1] if newest_first else everything)


@given(tasks=tables(BY_BASE), after=st.tuples(st.integers(-3, 6), bases, zones))
def test_a_page_may_begin_behind_a_row_that_is_gone(tasks: Any, after: tuple[int, Any, Any]) -> None:
    rows, gone = fold(BY_BASE, tasks, PANE_US), RowKey(after[0] * PANE_US, after[1:])
    left = page(rows, gone, 100, newest_first=False)
    everything = in_order([*(key_at(rows, at) for at in range(len(rows))), gone])
    behind = everything[len(everything) - everything[::-1].index(gone) :]
    assert [key_at(left, at) for at in range(len(left))] == behind

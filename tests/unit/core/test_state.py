"""A view's rows in arrays: found by window, group and null, grown without loss, changed only by what is swapped in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.codecs.stored.row_keys import encode_keys
from app.domain.records import Value
from app.domain.rows import Cells, RowKey
from app.domain.windows.all_time import AllTime
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.tumbling import Tumbling
from app.engine.core.rows import table_keys
from app.engine.core.rows.state import ViewChange, ViewState
from tests.support.material.stored.tables import state_of
from tests.support.material.zone_rows import NAMES, PANE_US, TOTAL, VIEW, ZONES, as_table, many

BASE_US = 360_000_000_000_000
KEYS = st.builds(
    RowKey, st.integers(-3, 3).map(lambda n: n * PANE_US), st.tuples(st.sampled_from(ZONES), st.sampled_from(NAMES))
)
TABLES = st.dictionaries(KEYS, st.tuples(st.integers(1, 9), st.integers(-9, 9)), max_size=12)


TABLE: dict[RowKey, Cells] = {
    RowKey(-PANE_US, (1, "a")): (1, 11),
    RowKey(0, (1, "a")): (2, 22),
    RowKey(0, (None, "a")): (3, 33),
    RowKey(PANE_US, (265, None)): (4, 44),
    RowKey(PANE_US, (1, "")): (5, 55),
}


def found(**asked: object) -> list[int]:
    """Counts of the rows found, which name them."""
    return sorted(state_of(VIEW, TABLE).select(**asked).cells[:, 0].tolist())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("from_us", "until_us", "counts"),
    [
        (None, None, [1, 2, 3, 4, 5]),
        (0, None, [2, 3, 4, 5]),
        (1, None, [4, 5]),
        (None, 0, [1]),
        (None, 1, [1, 2, 3]),
        (0, PANE_US, [2, 3]),
        (-PANE_US, -PANE_US, []),
    ],
)
def test_rows_are_found_by_the_start_of_their_window_from_included_until_excluded(
    from_us: int | None, until_us: int | None, counts: list[int]
) -> None:
    """-10 |1   0 |2 3   10 |4 5"""
    assert found(from_us=from_us, until_us=until_us) == counts


@pytest.mark.parametrize(
    ("groups", "counts"),
    [
        ({}, [1, 2, 3, 4, 5]),
        ({"zone": [1]}, [1, 2, 5]),
        ({"zone": [1, 265]}, [1, 2, 4, 5]),
        ({"zone": [None]}, [3]),
        ({"zone": [None, 265]}, [3, 4]),
        ({"zone": [0]}, []),
        ({"zone": []}, []),
        ({"who": ["a"]}, [1, 2, 3]),
        ({"who": [""]}, [5]),
        ({"who": [None]}, [4]),
        ({"who": [None, "a"]}, [1, 2, 3, 4]),
        ({"who": []}, []),
        ({"zone": [1], "who": ["a"]}, [1, 2]),
    ],
)
def test_rows_are_found_by_any_of_the_values_of_each_group(
    groups: Mapping[str, Sequence[Value]], counts: list[int]
) -> None:
    """Null is asked for as None; it is neither 0 nor the empty text."""
    assert found(groups=groups) == counts


@given(
    TABLES,
    st.sampled_from((None, -PANE_US, 0, 1)),
    st.sampled_from((None, 0, PANE_US)),
    st.sets(st.sampled_from(ZONES)),
)
def test_a_selection_is_what_a_loop_over_all_rows_would_pick(
    table: dict[RowKey, Cells], from_us: int | None, until_us: int | None, zones: set[int | None]
) -> None:
    picked = {
        key: cells
        for key, cells in table.items()
        if (from_us is None or key.window_start_us >= from_us)  # type: ignore[operator]
        and (until_us is None or key.window_start_us < until_us)  # type: ignore[operator]
        and key.group[0] in zones
    }
    rows = state_of(VIEW, table).select(from_us=from_us, until_us=until_us, groups={"zone": list(zones)})
    assert as_table(VIEW, rows) == picked


@pytest.mark.parametrize("most_keys", [0, 4096])
@pytest.mark.parametrize(
    "window", [VIEW.window, Tumbling("begun_us", 10, 3), Calendar("begun_us", Unit.HOUR, "UTC"), AllTime()]
)
@given(
    gone=st.integers(0, 2**84 - 1),
    from_us=st.none() | st.integers(-4, 4),
    until_us=st.none() | st.integers(-4, 4),
    zones=st.lists(st.sampled_from((*ZONES, 7)), max_size=3),
    names=st.lists(st.sampled_from((*NAMES, "nobody")), max_size=3),
    off_us=st.sampled_from((-1, 0, 1)),
)
@settings(max_examples=60)
def test_rows_of_groups_that_are_all_told_are_those_that_a_loop_would_pick(
    most_keys: int,
    window: Window,
    gone: int,
    from_us: int | None,
    until_us: int | None,
    zones: list[int | None],
    names: list[str | None],
    off_us: int,
) -> None:
    """Looked up if they are few, searched for if they may be many."""
    view = replace(VIEW, window=window)
    length_us = PANE_US if window.panes else 3_600_000_000
    offset_us = window.panes.offset_us if window.panes else 0
    starts = [BASE_US + n * length_us + offset_us for n in range(-3, 4)] if window.ends else [None]
    keys = [RowKey(start, (zone, name)) for start in starts for zone in ZONES for name in NAMES]
    table = {key: (n + 1, n) for n, key in enumerate(keys) if not gone >> n & 1}
    low = None if from_us is None else BASE_US + from_us * length_us + offset_us + off_us
    end = None if until_us is None else BASE_US + until_us * length_us + offset_us + off_us
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_keys, "MOST_KEYS", most_keys)
        rows = state_of(view, table).select(from_us=low, until_us=end, groups={"zone": zones, "who": names})
    assert as_table(view, rows) == {
        key: cells
        for key, cells in table.items()
        if key.group[0] in zones
        and key.group[1] in names
        and (key.window_start_us is None or low is None or key.window_start_us >= low)
        and (key.window_start_us is None or end is None or key.window_start_us < end)
    }


def test_bounds_mean_nothing_to_a_running_total() -> None:
    state = state_of(TOTAL, {RowKey(None, ()): (7, 77)})
    rows = state.select(from_us=5, until_us=6)
    assert (rows.windows, rows.groups, rows.cells.tolist()) == (None, [], [[7, 77]])


@given(TABLES)
def test_what_is_stored_is_what_is_held_and_the_index_finds_it(table: dict[RowKey, Cells]) -> None:
    state = state_of(VIEW, table)
    keys, values = state.stored()
    assert len(state) == len(keys) == len(values) == len(table)
    assert as_table(VIEW, state.select()) == table
    assert state.find_slots(state.select()).tolist() == state.find().tolist()


@pytest.mark.parametrize("steps", [[1023, 1, 1], [1024, 1], [1025], [5000, 5000], [1] * 3 + [4096] * 3])
def test_a_table_grows_without_losing_a_row(steps: list[int]) -> None:
    """Around and far beyond the first capacity, by little and at once."""
    state, size = ViewState(VIEW), 0
    for step in steps:
        state.append(many(size, step))
        size += step
    rows = many(0, size)
    assert len(state) == size
    assert state.stored()[0] == encode_keys(VIEW, rows.windows, rows.groups)
    assert state.select().cells.tolist() == rows.cells.tolist()
    assert state.select().groups[1].tolist() == rows.groups[1].tolist()
    assert state.find_slots(rows).tolist() == list(range(size))


def test_a_change_sets_the_known_rows_and_appends_the_new_ones() -> None:
    state = state_of(VIEW, TABLE)
    state.swap_in(ViewChange(np.array([4, 0]), np.array([[50, 0], [10, 0]]), many(100, 2)))
    assert sorted(state.select().cells[:, 0].tolist()) == [2, 3, 4, 10, 50, 100, 101]
    assert state.select(groups={"who": [""]}).cells.tolist() == [[50, 0]]


def test_rows_that_were_given_out_do_not_change_with_the_state() -> None:
    """A query is answered from them while batches go on."""
    state = state_of(VIEW, TABLE)
    given_out, slots = state.select(), np.array([0])
    cells, windows = state.cells_at(slots), state.windows_at(slots)
    state.swap_in(ViewChange(np.arange(5), np.zeros((5, 2), np.int64), many(100, 1)))
    assert as_table(VIEW, given_out) == TABLE
    assert cells.tolist() == [[1, 11]]
    assert windows is not None
    windows[0] = 99
    assert state.windows_at(slots).tolist() == [-PANE_US]  # type: ignore[union-attr]


def test_an_empty_state_has_no_rows() -> None:
    state = ViewState(VIEW)
    assert len(state.select()) == 0
    assert state.stored() == ([], [])
    assert state.find(from_us=0, groups={"zone": [None]}).tolist() == []

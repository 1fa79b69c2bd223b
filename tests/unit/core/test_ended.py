"""Rows whose windows have ended are found whatever has come, gone and moved before, in order of their ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.engine.core.rows import piece_bounds, table
from app.engine.core.rows.columns import Rows, ViewChange
from app.engine.core.rows.state import ViewState
from app.engine.core.views.ended import next_ended
from tests.support.material.zone_rows import VIEW

SIZE_US = 10_000_000
INTEGERS: View = replace(VIEW, groups=(Group("zone", "zone"),), window=Tumbling("begun_us", 10))
WINDOWS = st.lists(st.integers(-6, 12), max_size=12)


def rows_of(windows: list[int]) -> Rows:
    """One row of each window, all of one zone."""
    starts = np.array(sorted({w * SIZE_US for w in windows}), np.int64)
    return Rows(starts, [np.ones(len(starts), np.int64)], np.ones((len(starts), len(INTEGERS.cells)), np.int64))


def remove(state: ViewState, slots: np.ndarray) -> None:
    none = rows_of([])
    state.swap_in(ViewChange(slots[:0], none.cells, none, slots))


@given(
    st.lists(st.tuples(WINDOWS, st.integers(-7, 13), st.integers(1, 6)), max_size=8),
    st.integers(-7, 14),
    st.integers(-7, 14),
)
def test_found_are_the_earliest_rows_that_end_in_the_span(
    steps: list[tuple[list[int], int, int]], from_window: int, until_window: int
) -> None:
    """In pieces of four slots: bounds of a piece must follow rows that come, go, and are packed."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (piece_bounds, table):
            patch.setattr(module, "PIECE_SLOTS", 4)
        state, held = ViewState(INTEGERS), set[int]()
        for new, expired_to, most in steps:
            state.put(rows_of(new))
            held |= {w * SIZE_US for w in new}
            ended = next_ended(state, None, expired_to * SIZE_US, most)
            due = sorted(start for start in held if start + SIZE_US <= expired_to * SIZE_US)
            found = state.windows_at(ended.slots)
            assert found is not None
            assert sorted(found.tolist()) == due[:most]
            remove(state, ended.slots)
            held -= set(due[:most])
        between = state.select(from_us=from_window * SIZE_US, until_us=until_window * SIZE_US)
        assert between.windows is not None
        assert sorted(between.windows.tolist()) == sorted(
            start for start in held if from_window * SIZE_US <= start < until_window * SIZE_US
        )

"""A snapshot is the state of its moment, whatever is swapped in while it is copied."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.domain.rows import RowKey
from app.engine.core.rows.state import Rows, ViewChange, ViewState
from app.rides.views import VENDOR_TRIPS
from tests.support.material.stored.tables import state_of

SIZE = 9


def change_of(state: ViewState, slots: set[int], value: int, new_rows: int) -> ViewChange:
    """Puts a value into every cell of some slots, and appends rows."""
    at = np.array(sorted(slots), np.int64)
    vendors = np.array([f"v{vendor}" for vendor in range(len(state), len(state) + new_rows)], object)
    width = len(VENDOR_TRIPS.cells)
    rows = Rows(None, [vendors], np.full((new_rows, width), value, np.int64))
    return ViewChange(at, np.full((len(at), width), value, np.int64), rows)


changes = st.tuples(st.sets(st.integers(0, SIZE - 1)), st.integers(0, 99), st.integers(0, 700))


@given(
    step=st.integers(1, 4),
    wanted=st.none() | st.sets(st.integers(0, SIZE - 1)),
    between=st.lists(st.lists(changes, max_size=3), max_size=12),
)
def test_what_is_swapped_in_while_it_is_copied_is_not_in_it(
    step: int, wanted: set[int] | None, between: list[list[tuple[set[int], int, int]]]
) -> None:
    state = state_of(VENDOR_TRIPS, {RowKey(None, (f"v{vendor}",)): (vendor, -vendor) for vendor in range(SIZE)})
    slots = None if wanted is None else np.array(sorted(wanted), np.int64)
    before = state.select() if slots is None else state.rows_at(slots)
    batches = iter(between)

    def swap_some_in() -> None:
        for changed, value, new_rows in next(batches, []):
            state.swap_in(change_of(state, changed, value, new_rows))

    with state.snapshot(slots) as snapshot:
        swap_some_in()
        for _ in snapshot.copy(step):
            swap_some_in()
    rows = snapshot.rows()
    assert rows.cells.tolist() == before.cells.tolist()
    assert rows.groups[0].tolist() == before.groups[0].tolist()


def test_two_snapshots_at_once_do_not_disturb_each_other() -> None:
    state = state_of(VENDOR_TRIPS, {RowKey(None, (f"v{vendor}",)): (vendor, vendor) for vendor in range(SIZE)})
    first = state.select().cells.tolist()
    with state.snapshot() as early:
        state.swap_in(change_of(state, {0, 5}, 77, 0))
        second = state.select().cells.tolist()
        with state.snapshot() as late:
            state.swap_in(change_of(state, {0, 1}, 88, 2))
            for snapshot in (late, early):
                list(snapshot.copy(2))
    assert (early.rows().cells.tolist(), late.rows().cells.tolist()) == (first, second)

"""A state through changes, arrivals and removals is the dict that took the same; its memory follows its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from app.domain.errors import StateError
from app.domain.rows import Cells, RowKey
from app.engine.core.rows import slot_index, table
from app.engine.core.rows.columns import Rows, ViewChange
from app.engine.core.rows.snapshot import Snapshot
from app.engine.core.rows.state import ViewState
from tests.support.material.stored.tables import rows_of_table
from tests.support.material.zone_rows import NAMES, PANE_US, VIEW, ZONES, as_table, many

KEYS = [RowKey(n * PANE_US, (zone, name)) for n in range(-2, 3) for zone in ZONES for name in NAMES]
SOME_KEYS = st.sets(st.sampled_from(KEYS), max_size=20)
CELLS = st.tuples(st.integers(1, 9), st.integers(-9, 9))
Table = dict[RowKey, Cells]


@contextmanager
def small_steps() -> Iterator[None]:
    """Steps so small that tables of a few rows move, shrink and copy their index in several of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_FIRST_CAPACITY", 2)
        patch.setattr(table, "_MOVED_ROWS", 2)
        patch.setattr(table, "_MOST_GROWTH", 3)
        patch.setattr(slot_index, "_FIRST_CAPACITY", 2)
        patch.setattr(slot_index, "_STEP_PLACES", 1)
        yield


def marked_keys(rows: Rows) -> set[RowKey]:
    """Those that corrections have set."""
    return set() if rows.corrected is None else set(as_table(VIEW, rows.at(rows.corrected)))


def slots_of(state: ViewState, keys: list[RowKey]) -> np.ndarray:
    return state.find_slots(rows_of_table(VIEW, dict.fromkeys(keys, (0, 0))))


class StateAndDict(RuleBasedStateMachine):
    """Random batches, with snapshots taken and copied in between."""

    def __init__(self) -> None:
        super().__init__()
        self._steps = small_steps()
        self._steps.__enter__()
        self.state, self.model, self.marked = ViewState(VIEW), Table(), set[RowKey]()
        self.running: list[tuple[object, Snapshot, Iterator[None], Table, set[RowKey]]] = []

    @rule(
        come=st.dictionaries(st.sampled_from(KEYS), CELLS, max_size=20),
        go=SOME_KEYS,
        again=st.booleans(),
        marks=st.just(set()) | SOME_KEYS,
    )
    def batch(self, come: Table, go: set[RowKey], again: bool, marks: set[RowKey]) -> None:
        """Rows that go may come again in the same batch, as new ones; a transaction's changes are built all at once."""
        go = {key for key in go if key in self.model and (again or key not in come)}
        changed = {key: cells for key, cells in come.items() if key in self.model and key not in go}
        new = {key: cells for key, cells in come.items() if key not in changed}
        slots = slots_of(self.state, list(changed))
        cells = rows_of_table(VIEW, changed).cells
        removed = slots_of(self.state, list(go))
        assert (slots >= 0).all()
        assert (removed >= 0).all()
        none = rows_of_table(VIEW, {})
        self.state.swap_in(ViewChange(slots, cells, none, removed[:1]))
        rows = rows_of_table(VIEW, new)
        rows = rows.marked(np.array([key in marks for key in new], bool)) if marks else rows
        self.state.swap_in(ViewChange(slots, cells, rows, removed[1:]))
        self.state.pack()
        self.model = {key: cells for key, cells in self.model.items() if key not in go} | come
        self.marked = self.marked - go | marks & set(new)

    @rule()
    def all_go(self) -> None:
        self.batch({}, set(self.model), again=False, marks=set())

    @rule(step=st.integers(1, 5))
    def begin_snapshot(self, step: int) -> None:
        if len(self.running) < 3:
            held = self.state.snapshot()
            snapshot = held.__enter__()
            self.running.append((held, snapshot, snapshot.copy(step), dict(self.model), set(self.marked)))

    @rule(data=st.data())
    def copy_some(self, data: st.DataObject) -> None:
        if not self.running:
            return
        at = data.draw(st.integers(0, len(self.running) - 1))
        held, snapshot, copying, then, marked_then = self.running[at]
        for _ in copying:
            return
        held.__exit__(None, None, None)  # type: ignore[attr-defined]
        assert as_table(VIEW, snapshot.rows()) == then
        assert marked_keys(snapshot.rows()) == marked_then
        del self.running[at]

    @invariant()
    def the_state_is_the_dict(self) -> None:
        assert len(self.state) == len(self.model)
        assert as_table(VIEW, self.state.select()) == self.model
        assert marked_keys(self.state.select()) == self.marked
        slots = slots_of(self.state, KEYS)
        assert {key for key, slot in zip(KEYS, slots, strict=True) if slot >= 0} == set(self.model)
        assert as_table(VIEW, self.state.rows_at(slots[slots >= 0])) == self.model
        zone = self.state.select(from_us=0, groups={"zone": [1], "who": ["a", None]})
        assert as_table(VIEW, zone) == {
            key: cells
            for key, cells in self.model.items()
            if key.window_start_us >= 0 and key.group[0] == 1 and key.group[1] in ("a", None)  # type: ignore[operator]
        }

    def teardown(self) -> None:
        self._steps.__exit__(None, None, None)  # type: ignore[attr-defined]


TestStateAndDict = StateAndDict.TestCase
TestStateAndDict.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)


def test_memory_comes_back_when_rows_go() -> None:
    state = ViewState(VIEW)
    state.append(many(0, 400_000))
    full = state.nbytes
    for first in range(0, 399_000, 20_000):
        gone = state.find(from_us=first * PANE_US, until_us=min(first + 20_000, 399_000) * PANE_US)
        state.swap_in(ViewChange(gone[:0], state.cells_at(gone[:0]), many(0, 0), gone))
        state.pack()
    for _ in range(10):  # batches that change nothing: what moves rows together is part of every batch
        state.pack()
    assert len(state) == 1_000
    assert state.nbytes < full / 50
    assert as_table(VIEW, state.select()) == as_table(VIEW, many(399_000, 1_000))


def test_slots_of_removed_rows_are_used_again() -> None:
    """A table whose rows come and go at the same pace does not grow."""
    state = ViewState(VIEW)
    state.append(many(0, 10_000))
    size = state.nbytes
    for first in range(10_000, 200_000, 2_000):
        gone = state.find(until_us=(first - 8_000) * PANE_US)
        state.swap_in(ViewChange(gone[:0], state.cells_at(gone[:0]), many(first, 2_000), gone))
    assert len(state) == 10_000
    assert state.nbytes <= size * 1.5
    assert as_table(VIEW, state.select()) == as_table(VIEW, many(190_000, 10_000))


def test_texts_of_removed_rows_are_forgotten() -> None:
    """A group with a text of its own per row, such as an id, would else grow for ever."""
    state = ViewState(VIEW)
    for first in range(0, 30_000, 3_000):
        state.append(many(first, 3_000))
        state.swap_in(ViewChange(none := np.empty(0, np.int64), state.cells_at(none), many(0, 0), state.find()))
    (codes,) = [codes for codes in state._keys._texts if codes is not None]
    assert len(codes) == 0
    assert codes.capacity < 4_000


def test_a_removal_of_a_row_that_is_not_there_is_refused_in_words() -> None:
    state = ViewState(VIEW)
    state.append(many(0, 3))
    gone = np.array([1])
    state.swap_in(ViewChange(gone[:0], state.cells_at(gone[:0]), many(0, 0), gone))
    with pytest.raises(StateError, match=r"slots \[1\] are to be removed"):
        state.swap_in(ViewChange(gone[:0], state.cells_at(gone[:0]), many(0, 0), gone))


@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), max_size=40))
def test_the_last_of_each_key_is_what_a_dict_keeps(keys: list[list[int]]) -> None:
    held = np.array(keys, np.int64).reshape(len(keys), 2)
    last = {tuple(key): at for at, key in enumerate(keys)}
    assert slot_index.last_of_each(held).tolist() == sorted(last.values())


def test_a_million_keys_are_found_and_no_other() -> None:
    """Through every size of the index between, with keys that differ in few bits as windows and zones do."""
    index, keys = slot_index.SlotIndex(), np.array(np.meshgrid(np.arange(4_000) * PANE_US, np.arange(1, 251)))
    held = np.ascontiguousarray(keys.reshape(2, -1).T)
    for first in range(0, len(held), 50_000):
        index.add(held, np.arange(first, first + 50_000))
    assert (index.find(held, held) == np.arange(len(held))).all()
    assert (index.find(held, np.add(held, [0, 250])) == -1).all()
    gone = np.arange(0, len(held), 3)
    index.remove(held, gone)
    found = index.find(held, held)
    assert (found[gone] == -1).all()
    assert (np.delete(found, gone) == np.delete(np.arange(len(held)), gone)).all()

"""Rows that merge, chained by group in the order of time: what a row touches is found by walking back from the newest.

    group         newest        older         still older
    dhl      ->   slot 7  <->   slot 2  <->   slot 5
                  9:40 to 9:52  9:10 to 9:31  8:05 to 8:20

A walk goes over what is newer than what it looks for, which is little: records come more or less in the order of time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.compiled import compiled
from app.engine.core.rows.growing import with_room
from app.engine.core.rows.slot_index import SlotIndex, last_of_each

_NONE = -1
_START, _END, _OLDER, _NEWER = range(4)
_LEAST_SLOTS = 64


class Chains:
    """Of each row of a table, by slot: its group, first and last record, and the slots of its neighbours in time."""

    def __init__(self, group_columns: int) -> None:
        self._newest = SlotIndex()
        """Of each group, by what `_groups` holds at its slot."""
        self._groups: Int64s = np.empty((_LEAST_SLOTS, group_columns), np.int64)
        self._rows: Int64s = np.empty((_LEAST_SLOTS, 4), np.int64)

    @property
    def nbytes(self) -> int:
        return self._groups.nbytes + self._rows.nbytes + self._newest.nbytes

    def add(self, slots: Int64s, groups: Int64s, starts_us: Int64s, ends_us: Int64s) -> None:
        """Rows that are not here."""
        end = int(slots.max(initial=_NONE)) + 1
        self._groups, self._rows = with_room(self._groups, end), with_room(self._rows, end)
        self._groups[slots] = groups
        self._rows[slots, _START], self._rows[slots, _END] = starts_us, ends_us
        self._rows[slots, _OLDER] = self._rows[slots, _NEWER] = _NONE
        newest = self._newest.find(self._groups, groups)
        unknown = np.flatnonzero(newest == _NONE)
        if len(unknown):
            self._newest.add(self._groups, slots[unknown[last_of_each(groups[unknown])]])
            newest[unknown] = self._newest.find(self._groups, groups[unknown])
        others = np.flatnonzero(newest != slots)
        others = others[np.lexsort([-starts_us[others], newest[others]])]
        self._newest.move(self._groups, *_link(self._rows, slots[others], newest[others]))

    def set_ends(self, slots: Int64s, ends_us: Int64s) -> None:
        """Rows have another last record; of a slot that is named twice the last one counts."""
        self._rows[slots, _END] = ends_us

    def remove(self, slots: Int64s) -> None:
        """Rows that are here."""
        newest, older = _unlink(self._rows, slots)
        goes_on = older != _NONE
        self._newest.move(self._groups, newest[goes_on], older[goes_on])
        self._newest.remove(self._groups, newest[~goes_on])

    def move(self, from_slots: Int64s, to_slots: Int64s) -> None:
        """Rows have other slots, which were no row's."""
        self._groups[to_slots] = self._groups[from_slots]
        _move(self._rows, from_slots, to_slots)
        first = self._rows[to_slots, _NEWER] == _NONE
        self._newest.move(self._groups, from_slots[first], to_slots[first])

    def fit(self, slots: int) -> None:
        """Give back what all rows below this slot do not need, if it is much."""
        capacity = max(slots, _LEAST_SLOTS)
        if 2 * capacity < len(self._rows):
            for held in (self._groups, self._rows):
                held.resize((capacity, held.shape[1]), refcheck=False)

    def touching(self, groups: Int64s, from_us: Int64s, to_us: Int64s) -> Int64s:
        """Slots of rows that share an instant with one of these spans of their groups, both ends inclusive; rising.

        Of one group no two rows share an instant.
        """
        newest = self._newest.find(self._groups, groups)
        order = np.lexsort([-to_us, newest])
        order = order[newest[order] != _NONE]
        asked = newest[order], from_us[order], to_us[order]
        found = np.empty(2 * len(order), np.int64)
        count = _find(self._rows, *asked, found)
        if count > len(found):
            found = np.empty(count, np.int64)
            _find(self._rows, *asked, found)
        return np.unique(found[:count])

    def begin_by(self, groups: Int64s, instants_us: Int64s) -> Mask:
        """Whether a row of each of these groups begins at its instant or before."""
        begun: Mask = _begin_by(self._rows, self._newest.find(self._groups, np.ascontiguousarray(groups)), instants_us)
        return begun


@compiled("int64[:,::1](int64[:,::1], int64[::1], int64[::1])")
def _link(rows: Any, slots: Any, newest: Any) -> Any:
    """Puts rows, in each group the latest first, into the chain of their `newest`: slots that were a newest, and what
    is it now."""
    changed = np.empty((2, len(slots)), np.int64)
    count, group, behind, here = 0, _NONE, _NONE, _NONE
    for i in range(len(slots)):
        slot = slots[i]
        if newest[i] != group:
            group, behind, here = newest[i], _NONE, newest[i]
        while here != _NONE and rows[here, _START] > rows[slot, _START]:
            behind, here = here, rows[here, _OLDER]
        rows[slot, _NEWER], rows[slot, _OLDER] = behind, here
        if here != _NONE:
            rows[here, _NEWER] = slot
        if behind != _NONE:
            rows[behind, _OLDER] = slot
        else:
            changed[0, count], changed[1, count] = group, slot
            count += 1
        behind = slot
    return changed[:, :count].copy()


@compiled("int64[:,::1](int64[:,::1], int64[::1])")
def _unlink(rows: Any, slots: Any) -> Any:
    """Takes rows out of their chains: slots that were a newest, one after the other, and what is it now."""
    changed = np.empty((2, len(slots)), np.int64)
    count = 0
    for slot in slots:
        older, newer = rows[slot, _OLDER], rows[slot, _NEWER]
        if older != _NONE:
            rows[older, _NEWER] = newer
        if newer != _NONE:
            rows[newer, _OLDER] = older
        else:
            changed[0, count], changed[1, count] = slot, older
            count += 1
    return changed[:, :count].copy()


@compiled("void(int64[:,::1], int64[::1], int64[::1])")
def _move(rows: Any, from_slots: Any, to_slots: Any) -> None:
    for i in range(len(from_slots)):
        start, to = from_slots[i], to_slots[i]
        for column in range(rows.shape[1]):
            rows[to, column] = rows[start, column]
        if rows[to, _OLDER] != _NONE:
            rows[rows[to, _OLDER], _NEWER] = to
        if rows[to, _NEWER] != _NONE:
            rows[rows[to, _NEWER], _OLDER] = to


@compiled("int64(int64[:,::1], int64[::1], int64[::1], int64[::1], int64[::1])")
def _find(rows: Any, newest: Any, from_us: Any, to_us: Any, found: Any) -> Any:
    """Slots that spans touch, some named twice, as far as there is room; how many. Of each `newest` the latest spans
    come first, so that none needs to look at what began behind the one before."""
    count, group, here = 0, _NONE, _NONE
    for i in range(len(newest)):
        if newest[i] != group:
            group = here = newest[i]
        while here != _NONE and rows[here, _START] > to_us[i]:
            here = rows[here, _OLDER]
        at = here
        while at != _NONE and rows[at, _END] >= from_us[i]:
            if count < len(found):
                found[count] = at
            count += 1
            at = rows[at, _OLDER]
    return count


@compiled("boolean[::1](int64[:,::1], int64[::1], int64[::1])")
def _begin_by(rows: Any, newest: Any, instants_us: Any) -> Any:
    begun = np.zeros(len(newest), np.bool_)
    for i in range(len(newest)):
        here = newest[i]
        while here != _NONE and rows[here, _START] > instants_us[i]:
            here = rows[here, _OLDER]
        begun[i] = here != _NONE
    return begun

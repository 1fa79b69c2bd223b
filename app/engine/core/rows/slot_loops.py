"""The loops of a slot index over its table, compiled; each finds a key's place by walking on from its home.

    an entry     63 ... 32   31 ... 0
                 [  hash  ]  [ slot + 1 ]       0: empty

    place          0    1    2    3    4    5
    table        [ A0 | B0 | C1 |    | D4 |    ]   letter: key, number: its home
    held         slot 0: key columns, slot 1: key columns, ...

An entry is 64 bits: 32 of the key's hash, then slot + 1; 0 is empty. The hash's share of 2**32 is the entry's
home in the table, so entries stand nearly in the order of their hashes: they are copied into a larger table in
sequence and without reading a key, and a lookup reads only the key that it then finds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.compiled import compiled

_SLOT = np.uint64(0xFFFFFFFF)
_HIGH = np.uint64(32)
_SEED, _ONE, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT = np.uint64(33)
_EMPTY = np.uint64(0)
_GONE = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Stands in an old table, which is only copied from, for an entry that was removed."""

HashTable = npt.NDArray[np.uint64]


@compiled("uint64(int64[:,::1], int64)")
def _hash(keys: Any, row: int) -> Any:
    """32 bits of a row's key; each column goes through a full mix, for windows and zones differ in few bits.

    `number_groups` in `cells/grouping.py` mixes alike, on its own: numba would not notice that a loop which is called
    from another module's had changed, and a table of which some loops are older than others finds wrong rows.
    """
    mixed = _SEED
    for column in range(keys.shape[1]):
        mixed ^= np.uint64(keys[row, column])
        mixed = (mixed ^ (mixed >> _SHIFT)) * _ONE
        mixed = (mixed ^ (mixed >> _SHIFT)) * _OTHER
        mixed ^= mixed >> _SHIFT
    return mixed >> _HIGH


@compiled("int64(uint64, int64)")
def _home(hashed: Any, capacity: int) -> Any:
    return np.int64((hashed * np.uint64(capacity)) >> _HIGH)


@compiled("int64(uint64)")
def _slot(entry: Any) -> Any:
    return np.int64(entry & _SLOT) - 1


@compiled("boolean(int64[:,::1], int64, int64[:,::1], int64)")
def _same(left: Any, i: int, right: Any, j: int) -> Any:
    for column in range(left.shape[1]):  # noqa: SIM110  (compiled: a generator would cost)
        if left[i, column] != right[j, column]:
            return False
    return True


@compiled("int64[::1](uint64[::1], int64[:,::1], int64[:,::1])")
def find(table: HashTable, held: Int64s, keys: Int64s) -> Int64s:
    """The slot of each key, -1 where there is none."""
    capacity = len(table)
    slots = np.empty(len(keys), np.int64)
    for row in range(len(keys)):
        hashed = _hash(keys, row)
        at = _home(hashed, capacity)
        slots[row] = -1
        while table[at] != _EMPTY:
            if table[at] >> _HIGH == hashed and table[at] != _GONE and _same(held, _slot(table[at]), keys, row):
                slots[row] = _slot(table[at])
                break
            at = at + 1 if at + 1 < capacity else 0
    return slots


@compiled("int64[::1](uint64[::1], uint64[::1], int64[:,::1], int64[:,::1], int64)")
def put(table: Any, old: Any, held: Any, keys: Any, next_slot: Any) -> Any:
    """As `SlotIndex.put`: what neither table has is entered in `table` and written to `held`."""
    capacity, old_capacity = len(table), len(old)
    slots = np.empty(len(keys), np.int64)
    for row in range(len(keys)):
        hashed = _hash(keys, row)
        slot, at = np.int64(-1), _home(hashed, capacity)
        while table[at] != _EMPTY:
            if table[at] >> _HIGH == hashed and table[at] != _GONE and _same(held, _slot(table[at]), keys, row):
                slot = _slot(table[at])
                break
            at = at + 1 if at + 1 < capacity else 0
        place = _home(hashed, old_capacity)
        while slot < 0 and old[place] != _EMPTY:
            if old[place] >> _HIGH == hashed and old[place] != _GONE and _same(held, _slot(old[place]), keys, row):
                slot = _slot(old[place])
            place = place + 1 if place + 1 < old_capacity else 0
        if slot < 0:
            slot = next_slot
            next_slot += 1
            table[at] = (hashed << _HIGH) | np.uint64(slot + 1)
            for column in range(keys.shape[1]):
                held[slot, column] = keys[row, column]
        slots[row] = slot
    return slots


@compiled("void(uint64[::1], uint64)")
def _enter(table: Any, entry: Any) -> None:
    capacity = len(table)
    at = _home(entry >> _HIGH, capacity)
    while table[at] != _EMPTY:
        at = at + 1 if at + 1 < capacity else 0
    table[at] = entry


@compiled("void(uint64[::1], int64[:,::1], int64[::1])")
def add(table: Any, held: Any, slots: Any) -> None:
    """Enter slots whose keys are not in the table."""
    for slot in slots:
        _enter(table, (_hash(held, slot) << _HIGH) | np.uint64(slot + 1))


@compiled("void(uint64[::1], uint64[::1])")
def copy(table: Any, larger: Any) -> None:
    """Enter in a larger table what a part of a smaller one holds."""
    for entry in table:
        if entry not in (_EMPTY, _GONE):
            _enter(larger, entry)


@compiled("int64(uint64[::1], int64[:,::1], int64)")
def _place(table: Any, held: Any, slot: int) -> Any:
    """Where the slot's entry stands, -1 if nowhere."""
    capacity = len(table)
    entry = (_hash(held, slot) << _HIGH) | np.uint64(slot + 1)
    at = _home(entry >> _HIGH, capacity)
    while table[at] != entry:
        if table[at] == _EMPTY:
            return -1
        at = at + 1 if at + 1 < capacity else 0
    return at


@compiled("int64(int64, int64, int64)")
def _behind(place: Any, at: Any, capacity: Any) -> Any:
    """How far `at` lies behind a place, round the end."""
    return at - place if at >= place else at - place + capacity


@compiled("boolean[::1](uint64[::1], int64[:,::1], int64[::1])")
def remove(table: Any, held: Any, slots: Any) -> Any:
    """Which ones were there. Entries behind a gap move up into it, unless that is before their home."""
    capacity = len(table)
    found = np.zeros(len(slots), np.bool_)
    for i in range(len(slots)):
        gap = _place(table, held, slots[i])
        if gap < 0:
            continue
        found[i] = True
        at = gap + 1 if gap + 1 < capacity else 0
        while table[at] != _EMPTY:
            home = _home(table[at] >> _HIGH, capacity)
            if _behind(home, at, capacity) >= _behind(gap, at, capacity):
                table[gap] = table[at]
                gap = at
            at = at + 1 if at + 1 < capacity else 0
        table[gap] = _EMPTY
    return found


@compiled("boolean[::1](uint64[::1], int64[:,::1], int64[::1])")
def mark_gone(table: Any, held: Any, slots: Any) -> Any:
    """Which ones were there, in a table that is only copied from."""
    found = np.zeros(len(slots), np.bool_)
    for i in range(len(slots)):
        at = _place(table, held, slots[i])
        if at >= 0:
            found[i] = True
            table[at] = _GONE
    return found


@compiled("void(uint64[::1], int64[:,::1], int64[::1], int64[::1])")
def move(table: Any, held: Any, from_slots: Any, to_slots: Any) -> None:
    """Give keys that still stand at `from_slots` other slots; those that are not here are left out."""
    for i in range(len(from_slots)):
        at = _place(table, held, from_slots[i])
        if at >= 0:
            table[at] = (table[at] & ~_SLOT) | np.uint64(to_slots[i] + 1)


@compiled("boolean[::1](int64[:,::1], uint64[::1])")
def is_last(keys: Any, table: Any) -> Any:
    """`table` is empty and larger than there are rows."""
    capacity = len(table)
    last = np.ones(len(keys), np.bool_)
    for row in range(len(keys)):
        hashed = _hash(keys, row)
        at = _home(hashed, capacity)
        while table[at] != _EMPTY:
            if table[at] >> _HIGH == hashed and _same(keys, _slot(table[at]), keys, row):
                last[_slot(table[at])] = False
                break
            at = at + 1 if at + 1 < capacity else 0
        table[at] = (hashed << _HIGH) | np.uint64(row + 1)
    return last

"""Which slot of a table holds a key: open addressing in compiled loops.

What an entry is, and how it is found: `slot_loops`. A table grows beside the old one, some entries with each change,
so that no change waits for all of them.
"""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.errors import StateError
from app.engine.core.rows import slot_loops as loops
from app.engine.core.rows.slot_loops import HashTable

_FIRST_CAPACITY = 1024
_FULLEST, _GROWTH, _EMPTIEST = 0.8, 1.4, 0.3
"""Shares of places taken: above the first the table grows, below the last it shrinks. 10 to 14 bytes a row."""
_STEP_PLACES = 1 << 18
"""Places of the old table copied with each change: about 2 ms."""


class SlotIndex:
    """Finds rows of a (slots, key columns) array, which is handed to each call, by their keys."""

    def __init__(self) -> None:
        self._table: HashTable = np.zeros(_FIRST_CAPACITY, np.uint64)
        self._old: HashTable | None = None
        self._copied = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._table.nbytes + (0 if self._old is None else self._old.nbytes)

    def find(self, held: Int64s, keys: Int64s) -> Int64s:
        """The slot of each key, -1 where there is none."""
        slots: Int64s = loops.find(self._table, held, keys)
        if self._old is not None and len(unknown := np.flatnonzero(slots < 0)):
            slots[unknown] = loops.find(self._old, held, keys[unknown])
        return slots

    def add(self, held: Int64s, slots: Int64s) -> None:
        """Enter slots whose keys, distinct and not yet here, already stand in `held`."""
        self._count += len(slots)
        if self._count > _FULLEST * len(self._table):
            self._resize()
        loops.add(self._table, held, slots)
        self._copy_some(4 * len(slots))

    def put(self, held: Int64s, keys: Int64s, first_slot: int) -> Int64s:
        """The slot of each key; those that have none get `first_slot` and what follows, and come to stand in `held`.

        Keys may come several times; `held` must have room for all of them.
        """
        self._count += len(keys)
        if self._count > _FULLEST * len(self._table):
            self._resize()
        slots: Int64s = loops.put(
            self._table, np.zeros(1, np.uint64) if self._old is None else self._old, held, keys, first_slot
        )
        self._count += int(slots.max(initial=first_slot - 1)) + 1 - first_slot - len(keys)
        self._copy_some(4 * len(slots))
        return slots

    def remove(self, held: Int64s, slots: Int64s) -> None:
        """Forget slots whose keys still stand in `held`. StateError if one is not in the index."""
        found = loops.remove(self._table, held, slots)
        if self._old is not None:
            found |= loops.mark_gone(self._old, held, slots)
        if not found.all():
            raise StateError(f"slots {slots[~found][:5].tolist()} are to be removed, but the index does not know them")
        self._count -= len(slots)
        if len(self._table) > _FIRST_CAPACITY and self._count < _EMPTIEST * len(self._table):
            self._resize()
        self._copy_some(4 * len(slots))

    def move(self, held: Int64s, from_slots: Int64s, to_slots: Int64s) -> None:
        """Give keys that still stand at `from_slots` in `held` the slots `to_slots`."""
        loops.move(self._table, held, from_slots, to_slots)
        if self._old is not None:
            loops.move(self._old, held, from_slots, to_slots)

    def _resize(self) -> None:
        self._copy_some(len(self._table) if self._old is None else len(self._old))
        capacity = max(_FIRST_CAPACITY, int(self._count / _FULLEST * _GROWTH))
        self._old, self._table, self._copied = self._table, np.zeros(capacity, np.uint64), 0

    def _copy_some(self, places: int) -> None:
        """At least four places per row that comes or goes: done long before the new table is full."""
        if self._old is None:
            return
        until = self._copied + max(places, _STEP_PLACES)
        loops.copy(self._old[self._copied : until], self._table)
        self._copied = until
        if until >= len(self._old):
            self._old = None


def last_of_each(keys: Int64s) -> Int64s:
    """Numbers of the rows whose key stands in no later row, rising."""
    return np.flatnonzero(loops.is_last(keys, np.zeros(2 * len(keys) + 1, np.uint64)))

"""Halves of a changelog into a state: the last record of each place is the half, or a tombstone."""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import NULL, Blobs
from app.codecs.cells.from_json import columns_of
from app.codecs.stored.halves import SIDE_SHIFT, Halves, decode_halves, half_places
from app.domain.pairs.joined import Side
from app.domain.pairs.pairing import Pairing
from app.engine.core.rows.halves import HeldHalves, NewHalves
from app.engine.core.rows.slot_index import SlotIndex, last_of_each


class HalfTaker:
    """Takes keys, values and offsets of consecutive records of a join's or alert's halves; knows where each stands."""

    def __init__(self, of: Pairing, halves: dict[str, HeldHalves]) -> None:
        self._of, self._halves = of, halves
        self._learn()

    def __call__(self, keys: Blobs, values: Blobs, _: Int64s) -> None:
        """LayoutError if a key or value is no half."""
        places, held = half_places(keys), self._halves[self._of.name]
        last = last_of_each(_rows(places))
        places, values = places[last], values.at(last)
        known = self._slots.find(_rows(held.columns().places), _rows(places))
        known = known[known >= 0]
        self._slots.remove(_rows(held.columns().places), known)
        held.remove(known)
        stored = values.lengths != NULL
        places, values = places[stored], values.at(stored)
        halves = decode_halves(values)
        self._require_columns(places, halves)
        added = held.add(NewHalves(places, halves.waits, halves.at_us, halves.ids, values))
        self._slots.add(_rows(held.columns().places), added)
        if held.is_wasteful:
            self._halves[self._of.name] = held.packed()
            self._learn()

    def _learn(self) -> None:
        held, self._slots = self._halves[self._of.name], SlotIndex()
        self._slots.add(_rows(held.columns().places), held.slots())

    def _require_columns(self, places: Int64s, halves: Halves) -> None:
        for number, side in enumerate(Side):
            columns_of(self._of.needed(side), halves.columns.at(halves.waits & (places >> SIDE_SHIFT == number)))


def _rows(column: Int64s) -> Int64s:
    """As keys of a slot index."""
    return np.ascontiguousarray(column).reshape(-1, 1)

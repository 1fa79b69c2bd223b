"""A batch's halves beside those that are held, through the loop that says what becomes of all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.stored.halves import OFFSET_BITS
from app.codecs.weaving import chosen, spread
from app.domain.errors import StateError
from app.domain.fingerprint import INT64_MAX, INT64_MIN
from app.domain.pairs.pairing import Pairing
from app.engine.core.cells.grouping import APPLIED
from app.engine.core.pairs import loops
from app.engine.core.pairs.arrivals import Arrivals
from app.engine.core.rows.halves import GONE, SETTLED, WAITING, HeldHalves
from app.engine.core.rows.texts import numbered

Loop = Callable[..., int]


class Times(NamedTuple):
    """Of each record, by watermarks: up to when it is late, behind when ids are taken, up to when halves leave.

    `reach_us`: how far from it the other side's halves are meant.
    """

    late_until_us: Int64s
    since_us: Int64s
    over_us: Int64s
    reach_us: int


class ToldPairs(NamedTuple):
    """Pairs, and halves that left, in the order of their telling; a half is NONE or a number, as `Walk` has them.

    `rows`: the records that let them be told.
    """

    left: Int64s
    right: Int64s
    rows: Int64s

    def at(self, which: Mask) -> ToldPairs:
        """Some of them."""
        return ToldPairs(self.left[which], self.right[which], self.rows[which])


class Walk:
    """What becomes of the halves of a batch and of those that are held: a half is its slot, or `slots` and its row."""

    def __init__(
        self, of: Pairing, held: HeldHalves, came: Arrivals, loop: Loop, times: Times, most: int | None = None
    ) -> None:
        """`most` halves leave; None: all that nobody can meet. StateError if a half had met already."""
        self.held, self.arrivals = held, came
        before, self._at_us, self._places, older = held.columns()
        self.slots = len(before)
        self._before, self._states = before, np.concatenate([before, np.zeros(len(came), np.int8)])
        self.fates = np.zeros(len(came), np.int8)
        leavers = self._leavers(int(times.over_us[-1]))[:most]
        numbers, first = numbered(came.ids)
        newest = held.newest_of(came.ids.at(first))
        told = np.empty((len(came) + len(leavers), 3), np.int64)
        steps, own = _steps(came, numbers, times), np.empty(len(came), np.int64)
        columns = self._at_us, self._places, older
        count = loop(steps, *columns, newest, leavers, self._states, own, self.fates, told)
        if count < 0:
            raise StateError(f"{of.name}: of a batch from offset {came.offsets[0]} on, a half met one that has met")
        self.told = ToldPairs(*np.ascontiguousarray(told[:count].T))

    def offsets_of(self, halves: Int64s) -> Int64s:
        """Where halves stand in their topic."""
        return self._either(halves, self._places, self.arrivals.offsets) & OFFSET_BITS

    def at_us_of(self, halves: Int64s) -> Int64s:
        """When halves happened."""
        return self._either(halves, self._at_us, self.arrivals.at_us)

    def values_of(self, halves: Int64s, waiting: Blobs) -> Blobs:
        """Halves as they waited; null for none. `waiting` has those of the batch by row."""
        held, own = np.flatnonzero((halves >= 0) & (halves < self.slots)), np.flatnonzero(halves >= self.slots)
        of_held = spread(self.held.values_at(halves[held]), held, len(halves))
        of_own = spread(waiting.at(halves[own] - self.slots), own, len(halves))
        return chosen((halves >= self.slots).astype(np.int64), [of_held, of_own])

    def _either(self, halves: Int64s, held: Int64s, own: Int64s) -> Int64s:
        found = np.zeros(len(halves), np.int64)
        is_held, is_own = (halves >= 0) & (halves < self.slots), halves >= self.slots
        found[is_held], found[is_own] = held[halves[is_held]], own[halves[is_own] - self.slots]
        return found

    def _leavers(self, until_us: int) -> Int64s:
        """Halves that may leave, the earliest first."""
        held = self.held.until(until_us, WAITING)
        own = np.flatnonzero((self.arrivals.sides >= 0) & (self.arrivals.at_us <= until_us))
        if not len(own):
            return held
        halves = np.concatenate([held, own + self.slots])
        at_us = np.concatenate([self._at_us[held], self.arrivals.at_us[own]])
        places = np.concatenate([self._places[held], self.arrivals.places[own]])
        return halves[np.lexsort((places, at_us))]

    @cached_property
    def applied(self) -> Int64s:
        """Rows of the records that count."""
        return np.flatnonzero(self.fates == APPLIED)

    @cached_property
    def settled(self) -> Int64s:
        """Slots of halves that waited, and do no more."""
        return np.flatnonzero((self._before == WAITING) & (self._states[: self.slots] == SETTLED))

    @cached_property
    def gone(self) -> Int64s:
        """Slots of halves that are forgotten."""
        return np.flatnonzero((self._before != GONE) & (self._states[: self.slots] == GONE))

    @cached_property
    def stay(self) -> Int64s:
        """Rows of halves that came and stay."""
        return np.flatnonzero(self._states[self.slots :] != GONE)

    @cached_property
    def wait(self) -> Int64s:
        """Those that wait."""
        return np.flatnonzero(self._states[self.slots :] == WAITING)


def _steps(came: Arrivals, numbers: Int64s, times: Times) -> Int64s:
    steps = np.empty((len(came), loops.STEP_WIDTH), np.int64)
    steps[:, loops.NUMBER], steps[:, loops.SIDE], steps[:, loops.AT] = numbers, came.sides, came.at_us
    steps[:, loops.LATE_UNTIL], steps[:, loops.SINCE] = times.late_until_us, times.since_us
    steps[:, loops.OVER] = times.over_us
    steps[:, loops.LOW] = earlier(came.at_us, times.reach_us)
    steps[:, loops.HIGH] = np.minimum(came.at_us, INT64_MAX - times.reach_us) + times.reach_us
    return steps


def earlier(instants_us: Int64s, by_us: int) -> Int64s:
    """Instants so much earlier, the first that there is at the earliest: no watermark is the first."""
    return np.maximum(instants_us, INT64_MIN + by_us) - by_us

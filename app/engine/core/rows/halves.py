"""What a join or an alert remembers: halves that wait, and ids that are taken. By column, in slots.

    slot      0         1         2         3
    state     WAITING   SETTLED   GONE      WAITING       GONE: free when all are packed
    at_us     60        20        .         95            when it happened
    places    L 7       R 3       .         L 9           side and offset (`app.codecs.stored.halves`)
    older     -1        0         .         -1            another half of the same id; -1: none
    values    as the changelog holds them, in one buffer, which `starts` and `lengths` cut

A slot is a half's until all are `packed`. What a transaction changes is swapped in on one event loop; a plan, in a
thread, reads what is there, and no array leaves but for its time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Bytes, Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.compiled import compiled
from app.codecs.stored.halves import SIDE_SHIFT, settled_values
from app.codecs.weaving import copied
from app.engine.core.rows.growing import with_room
from app.engine.core.rows.texts import UNKNOWN, TextCodes

States = npt.NDArray[np.int8]
GONE, WAITING, SETTLED = 0, 1, 2
NONE = -1

_LEAST_GONE, _LEAST_GONE_BYTES = 1 << 12, 1 << 20
_ID_AT = 10
"""Where the length of a value's id stands."""


class HalfColumns(NamedTuple):
    """Columns by slot, to be read while nothing is swapped in; `state` is a copy."""

    state: States
    at_us: Int64s
    places: Int64s
    older: Int64s


class NewHalves(NamedTuple):
    """Halves that come: `ids` are JSON, `values` as the changelog holds them."""

    places: Int64s
    waits: Mask
    at_us: Int64s
    ids: Blobs
    values: Blobs


class HeldHalves:
    """Halves of both sides, found by id, by state and time."""

    def __init__(self) -> None:
        self._ids = TextCodes()
        self._newest: Int64s = np.empty(0, np.int64)
        """By the code of an id: its newest half."""
        self._state: States = np.zeros(0, np.int8)
        self._at_us, self._places, self._older = (np.zeros(0, np.int64) for _ in range(3))
        self._codes, self._starts, self._lengths = (np.zeros(0, np.int64) for _ in range(3))
        self._values: Bytes = np.zeros(0, np.uint8)
        self._end = self._count = self._values_end = self._gone_bytes = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """Memory of all arrays, room to grow included."""
        columns = self._state, self._at_us, self._places, self._older, self._codes, self._starts, self._lengths
        return sum(held.nbytes for held in (*columns, self._newest, self._values)) + self._ids.nbytes

    @property
    def is_wasteful(self) -> bool:
        """Whether `packed` would give back half of it and more."""
        kept = self._values_end - self._gone_bytes
        gone = self._end - self._count > max(_LEAST_GONE, self._count)
        return gone or self._gone_bytes > max(_LEAST_GONE_BYTES, kept)

    def columns(self) -> HalfColumns:
        """What plans walk over."""
        held = self._state[: self._end].copy(), self._at_us, self._places, self._older
        return HalfColumns(*held)

    def newest_of(self, ids: Blobs) -> Int64s:
        """The slot of each id's newest half, NONE where it has none."""
        codes = self._ids.find(ids)
        slots = np.full(len(ids), NONE, np.int64)
        known = codes != UNKNOWN
        slots[known] = self._newest[codes[known]]
        return slots

    def until(self, until_us: int, state: int, side: int | None = None) -> Int64s:
        """Slots of halves in a state that happened at or before an instant, the earliest first."""
        held = self._state[: self._end], self._at_us, self._places
        slots = _until(*held, until_us, state, NONE if side is None else side)
        return slots[np.lexsort((self._places[slots], self._at_us[slots]))]

    def values_at(self, slots: Int64s) -> Blobs:
        """A copy of the values of some slots."""
        return copied(Blobs(self._values, self._starts[slots], self._lengths[slots]))

    def settled_values_at(self, slots: Int64s) -> Blobs:
        """What the values of some slots are when they wait no more."""
        return settled_values(self._at_us[slots], self._ids.texts(self._codes[slots]))

    def places_at(self, slots: Int64s) -> Int64s:
        """A copy of the places of some slots."""
        return self._places[slots]

    def slots(self) -> Int64s:
        """Of all halves, rising."""
        return np.flatnonzero(self._state[: self._end] != GONE)

    def stored(self) -> Mapping[int, bytes]:
        """All values by place."""
        slots = self.slots()
        return dict(zip(self._places[slots].tolist(), [value or b"" for value in self.values_at(slots)], strict=True))

    def add(self, new: NewHalves) -> Int64s:
        """Halves that are not here; gives their slots."""
        places, waits, at_us, ids, values = new
        first, end = self._end, self._end + len(places)
        self._reserve(end)
        added = copied(values)
        start, self._values_end = self._values_end, self._values_end + len(added.data)
        self._values = with_room(self._values, self._values_end)
        self._values[start : self._values_end] = added.data
        codes = self._ids.give(ids)
        self._ids.hold(codes)
        self._newest = with_room(self._newest, self._ids.capacity, NONE)
        self._state[first:end] = np.where(waits, WAITING, SETTLED)
        self._at_us[first:end], self._places[first:end], self._codes[first:end] = at_us, places, codes
        self._starts[first:end], self._lengths[first:end] = start + added.starts, added.lengths
        _link(codes, first, self._newest, self._older)
        self._end, self._count = end, self._count + len(places)
        return np.arange(first, end)

    def settle(self, slots: Int64s) -> None:
        """Halves wait no more: of their values the ids are kept."""
        self._state[slots] = SETTLED
        self._gone_bytes += _settle(slots, self._values, self._starts, self._lengths)

    def remove(self, slots: Int64s) -> None:
        """Halves go."""
        self._state[slots] = GONE
        self._count -= len(slots)
        self._gone_bytes += int(self._lengths[slots].sum())
        _unlink(slots, self._codes, self._newest, self._older)
        self._ids.release(self._codes[slots])

    def packed(self) -> HeldHalves:
        """The same halves without what is gone, in slots of their own."""
        packed, slots = HeldHalves(), self.slots()
        count, moved = len(slots), np.full(self._end, NONE, np.int64)
        moved[slots] = np.arange(count)
        packed._ids, codes = self._ids.packed()
        packed._newest = with_room(packed._newest, packed._ids.capacity, NONE)
        known = np.flatnonzero(codes != UNKNOWN)
        packed._newest[codes[known]] = moved[self._newest[known]]
        packed._reserve(count)
        packed._state[:count], packed._at_us[:count] = self._state[slots], self._at_us[slots]
        packed._places[:count], packed._codes[:count] = self._places[slots], codes[self._codes[slots]]
        older, values = self._older[slots], self.values_at(slots)
        packed._older[:count] = np.where(older == NONE, NONE, moved[older])
        packed._starts[:count], packed._lengths[:count], packed._values = values.starts, values.lengths, values.data
        packed._end, packed._count, packed._values_end = count, count, len(values.data)
        return packed

    def _reserve(self, end: int) -> None:
        for held in (self._at_us, self._places, self._older, self._codes, self._starts, self._lengths):
            with_room(held, end)
        with_room(self._state, end)


@compiled("int64[::1](int8[::1], int64[::1], int64[::1], int64, int64, int64)")
def _until(states: States, at_us: Int64s, places: Int64s, until_us: int, state: int, side: int) -> Int64s:
    found, count = np.empty(len(states), np.int64), 0
    for slot in range(len(states)):
        if states[slot] == state and at_us[slot] <= until_us and (side < 0 or places[slot] >> SIDE_SHIFT == side):
            found[count] = slot
            count += 1
    return found[:count].copy()


@compiled("void(int64[::1], int64, int64[::1], int64[::1])")
def _link(codes: Int64s, first: int, newest: Int64s, older: Int64s) -> None:
    for i in range(len(codes)):
        older[first + i] = newest[codes[i]]
        newest[codes[i]] = first + i


@compiled("void(int64[::1], int64[::1], int64[::1], int64[::1])")
def _unlink(slots: Int64s, codes: Int64s, newest: Int64s, older: Int64s) -> None:
    for i in range(len(slots)):
        slot, at = slots[i], newest[codes[slots[i]]]
        if at == slot:
            newest[codes[slot]] = older[slot]
            continue
        while older[at] != slot:
            at = older[at]
        older[at] = older[slot]


@compiled("int64(int64[::1], uint8[::1], int64[::1], int64[::1])")
def _settle(slots: Int64s, values: Bytes, starts: Int64s, lengths: Int64s) -> int:
    """Gives how many bytes are of no use any more."""
    gone = 0
    for i in range(len(slots)):
        start, length = starts[slots[i]], 0
        values[start + 1] = 0
        for byte in range(start + _ID_AT, start + _ID_AT + 4):
            length = length << 8 | int(values[byte])
        length += _ID_AT + 4
        gone += lengths[slots[i]] - length
        lengths[slots[i]] = length
    return gone

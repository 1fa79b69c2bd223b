"""Texts as numbers: a table holds each text of a group once, and its code in the rows.

code        0        1        2
digests     [ .. ]   [ .. ]   [ .. ]      two times 64 bits of each text, which the index finds
data        [ Paris | Rome | . . . ]      the texts themselves, at `starts`; what is compared at last
rows        3        0        1           how many rows hold it; a text without a row is forgotten
"""

from __future__ import annotations

from typing import Any

import numpy as np

from app.codecs.arrays import Bytes, Int64s
from app.codecs.blobs import Blobs
from app.codecs.compiled import READABLE, compiled
from app.codecs.text_column import GroupColumn, TextColumn
from app.codecs.weaving import copied
from app.domain.errors import StateError
from app.engine.core.rows.growing import with_room
from app.engine.core.rows.slot_index import SlotIndex, last_of_each

UNKNOWN = -1
"""The code of a text that no row holds."""

_FIRST_CAPACITY = 16
_LEAST_WASTE_BYTES = 1 << 16

_SECRET = np.uint64(hash("texts") % 2**64)
"""Another one in each process, as Python's own are: whoever chooses texts cannot choose two of one digest."""
_ONE, _OTHER = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)
_SHIFT, _BYTE = np.uint64(33), np.uint64(8)


class TextCodes:
    """Codes of the texts that rows hold, null among them. A text without a row is forgotten, its code used again."""

    def __init__(self) -> None:
        self._index = SlotIndex()
        self._digests: Int64s = np.empty((_FIRST_CAPACITY, 2), np.int64)
        self._starts: Int64s = np.zeros(_FIRST_CAPACITY, np.int64)
        self._lengths: Int64s = np.zeros(_FIRST_CAPACITY, np.int64)
        self._rows: Int64s = np.zeros(_FIRST_CAPACITY, np.int64)
        self._unused: Int64s = np.empty(0, np.int64)
        self._end = 0
        self._data: Bytes = np.empty(0, np.uint8)
        self._data_end = self._wasted = 0

    def __len__(self) -> int:
        return len(self._index)

    @property
    def capacity(self) -> int:
        """No code is so high."""
        return len(self._rows)

    @property
    def nbytes(self) -> int:
        arrays = self._digests, self._starts, self._lengths, self._rows, self._unused, self._data
        return sum(held.nbytes for held in arrays) + self._index.nbytes

    def find(self, texts: Blobs) -> Int64s:
        """The code of each text, UNKNOWN where there is none."""
        return self._find(texts, _digests(texts.data, texts.starts, texts.lengths, _SECRET))

    def give(self, texts: Blobs) -> Int64s:
        """The code of each text, given now where there was none. Rows that stay with one are then to be held."""
        asked = _digests(texts.data, texts.starts, texts.lengths, _SECRET)
        codes = self._find(texts, asked)
        new = np.flatnonzero(codes == UNKNOWN)
        if len(new):
            each = new[last_of_each(asked[new])]
            self._add(texts.at(each), asked[each])
            codes[new] = self._find(texts.at(new), asked[new])
        return codes

    def hold(self, codes: Int64s) -> None:
        """Rows with these codes have come."""
        np.add.at(self._rows, codes, 1)

    def release(self, codes: Int64s) -> None:
        """Rows with these codes are gone."""
        np.subtract.at(self._rows, codes, 1)
        over = np.unique(codes[self._rows[codes] == 0])
        if not len(over):
            return
        self._index.remove(self._digests, over)
        self._wasted += int(np.maximum(self._lengths[over], 0).sum())
        self._lengths[over] = 0
        self._unused = np.concatenate([self._unused, over])
        if self._wasted > max(_LEAST_WASTE_BYTES, self._data_end // 2):
            self._pack()

    def texts(self, codes: Int64s) -> Blobs:
        """A copy of the texts of known codes, in UTF-8."""
        return copied(Blobs(self._data, self._starts[codes], self._lengths[codes]))

    def packed(self) -> tuple[TextCodes, Int64s]:
        """The same texts in as little room as they need, and by the code that each had, the one it has there."""
        held = np.flatnonzero(self._rows[: self._end] > 0)
        packed, codes = TextCodes(), np.full(self._end, UNKNOWN, np.int64)
        packed._add(self.texts(held), self._digests[held])
        codes[held] = np.arange(len(held))
        packed._rows[: len(held)] = self._rows[held]
        return packed, codes

    def _find(self, texts: Blobs, asked: Int64s) -> Int64s:
        codes = self._index.find(self._digests, asked)
        _require_same(texts, Blobs(self._data, self._starts, self._lengths), codes)
        return codes

    def _add(self, texts: Blobs, asked: Int64s) -> None:
        """Texts that are distinct and not here."""
        again = min(len(self._unused), len(texts))
        codes = np.concatenate([self._unused[:again], np.arange(self._end, self._end + len(texts) - again)])
        self._unused = self._unused[again:]
        self._reserve(self._end + len(texts) - again)
        added = copied(texts)
        end = self._data_end + len(added.data)
        self._data = with_room(self._data, end)
        self._data[self._data_end : end] = added.data
        self._digests[codes], self._rows[codes] = asked, 0
        self._starts[codes], self._lengths[codes] = self._data_end + added.starts, added.lengths
        self._data_end = end
        self._index.add(self._digests, codes)

    def _reserve(self, end: int) -> None:
        self._end = end
        if end > len(self._rows):
            for held in (self._digests, self._starts, self._lengths, self._rows):
                with_room(held, end)

    def _pack(self) -> None:
        """Move the texts together."""
        packed = copied(Blobs(self._data, self._starts[: self._end], self._lengths[: self._end]))
        self._data, self._starts[: self._end] = packed.data, packed.starts
        self._data_end, self._wasted = len(packed.data), 0


def codes_of(group: GroupColumn) -> Int64s:
    """Integers that are equal where the group's values are."""
    if group.dtype != object:
        return np.asarray(group)
    return numbered(TextColumn.of(group).utf8)[0]


def numbered(texts: Blobs) -> tuple[Int64s, Int64s]:
    """The number of each text, equal ones of one number, as they come; and where each number is first."""
    asked = _digests(texts.data, texts.starts, texts.lengths, _SECRET)
    numbers = SlotIndex().put(np.empty_like(asked), asked, 0)
    first = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)
    _require_same(texts, texts.at(first), numbers)
    return numbers, first


def _require_same(texts: Blobs, held: Blobs, codes: Int64s) -> None:
    """StateError if a text is not the one of its code; the others, whose codes are UNKNOWN, are passed over."""
    odd = _first_other(texts.data, texts.starts, texts.lengths, held.data, held.starts, held.lengths, codes)
    if odd >= 0:
        raise StateError(f"the texts {texts[odd]!r} and {held[int(codes[odd])]!r} have one digest")


@compiled(f"int64[:,::1]({READABLE}, int64[:], int64[:], uint64)")
def _digests(data: Any, starts: Any, lengths: Any, secret: Any) -> Any:
    """Two times 64 bits of each text, of other bits where its length or any byte is another; null is another, too."""
    told = np.empty((len(starts), 2), np.int64)
    for row in range(len(starts)):
        one, other = secret ^ np.uint64(lengths[row]), ~secret
        at, end = starts[row], starts[row] + lengths[row]
        while at < end:
            word, shift = np.uint64(0), np.uint64(0)
            for byte in range(at, min(at + 8, end)):
                word |= np.uint64(data[byte]) << shift
                shift += _BYTE
            one = (one ^ word) * _ONE
            one = (one ^ (one >> _SHIFT)) * _OTHER
            one ^= one >> _SHIFT
            other = (other + word) * _OTHER
            other = (other ^ (other >> _SHIFT)) * _ONE
            other ^= (other >> _SHIFT) ^ one
            at += 8
        told[row, 0], told[row, 1] = np.int64(one), np.int64(other ^ (one * _OTHER))
    return told


@compiled(f"int64({READABLE}, int64[:], int64[:], {READABLE}, int64[:], int64[:], int64[::1])")
def _first_other(
    data: Any, starts: Any, lengths: Any, held: Any, held_starts: Any, held_lengths: Any, codes: Any
) -> Any:
    """The first text that is not the one of its code, -1 if each is; those without a code are passed over."""
    for row in range(len(starts)):
        if codes[row] < 0:
            continue
        if lengths[row] != held_lengths[codes[row]]:
            return row
        start, at = starts[row], held_starts[codes[row]]
        for byte in range(lengths[row]):
            if data[start + byte] != held[at + byte]:
                return row
    return -1

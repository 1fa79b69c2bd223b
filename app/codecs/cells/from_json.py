"""Columns out of JSON, without an object for each value: as to_json.py writes it, and nothing else is read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.codecs.arrays import Bytes, Int64s, Mask
from app.codecs.blobs import NULL, Blobs
from app.codecs.cells.letters import BACKSLASH, LETTER, MOST_DIGITS, QUOTE, heads
from app.codecs.compiled import READABLE, compiled
from app.domain.errors import LayoutError

_COMMA, _BRACE, _MINUS, _U = (ord(letter) for letter in ",}-u")
_ZERO, _NINE, _A, _N, _T, _F = (ord(letter) for letter in "09antf")
_LOWEST = -(1 << 63)


def columns_of(names: Sequence[str], objects: Blobs) -> list[Blobs]:
    """The values of each name, still JSON: the inverse of `objects_of`. LayoutError if one is no such object."""
    parts = [*heads(names), b"}"] if names else [b"{}"]
    widths = np.array([len(head) for head in parts], np.int64)
    text = np.frombuffer(b"".join(parts), np.uint8)
    starts, lengths = (np.empty((len(names), len(objects)), np.int64) for _ in range(2))
    odd = _find_cells(objects.data, objects.starts, objects.lengths, text, widths, starts, lengths)
    if odd >= 0:
        raise LayoutError(f"{(objects[odd] or b'')[:200]!r} is not what this version writes of {', '.join(names)}")
    return [Blobs(objects.data, *places) for places in zip(starts, lengths, strict=True)]


def numbers_from_json(cells: Blobs) -> tuple[Int64s, Mask]:
    """Values, and which there are; flags are 0 and 1. What is no JSON at all is not there. LayoutError for another."""
    values, present = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.bool_)
    odd = _read_numbers(cells.data, cells.starts, cells.lengths, values, present)
    if odd >= 0:
        raise LayoutError(f"{(cells[odd] or b'')[:200]!r} is no number as this version writes it")
    return values, present


def texts_from_json(cells: Blobs) -> Blobs:
    """Texts in UTF-8, null where they are, or are no JSON at all. LayoutError for another."""
    lengths, starts = np.empty(len(cells), np.int64), np.cumsum(np.maximum(cells.lengths, 0))
    starts = starts - np.maximum(cells.lengths, 0)
    data = np.empty(int(np.maximum(cells.lengths, 0).sum()), np.uint8)
    odd = _read_texts(cells.data, cells.starts, cells.lengths, data, starts, lengths)
    if odd >= 0:
        raise LayoutError(f"{(cells[odd] or b'')[:200]!r} is no text as this version writes it")
    return Blobs(data, starts, lengths)


@compiled(f"int64({READABLE}, int64[:], int64[:], {READABLE}, int64[::1], int64[:,::1], int64[:,::1])")
def _find_cells(
    data: Bytes, starts: Int64s, lengths: Int64s, heads: Bytes, widths: Int64s, found: Int64s, found_lengths: Int64s
) -> int:
    """Where each object's values stand; gives the first object that is not of this form, -1 if all are."""
    for row in range(len(starts)):
        at, end, head = starts[row], starts[row] + lengths[row], 0
        for cell in range(len(widths)):
            if at + widths[cell] > end:
                return row
            for byte in range(widths[cell]):
                if data[at + byte] != heads[head + byte]:
                    return row
            at += widths[cell]
            head += widths[cell]
            if cell == len(found):
                break
            begin = at
            if at < end and data[at] == QUOTE:
                at += 1
                while at < end and data[at] != QUOTE:
                    at += 2 if data[at] == BACKSLASH else 1
                at += 1
            else:
                while at < end and data[at] != _COMMA and data[at] != _BRACE:
                    at += 1
            if at > end or at == begin:
                return row
            found[cell, row], found_lengths[cell, row] = begin, at - begin
        if at != end:
            return row
    return -1


@compiled(f"int64({READABLE}, int64[:], int64[:], int64[::1], boolean[::1])")
def _read_numbers(data: Bytes, starts: Int64s, lengths: Int64s, values: Int64s, present: Mask) -> int:
    """Gives the first that is none, -1 if all are."""
    for row in range(len(starts)):
        at, end = starts[row], starts[row] + lengths[row]
        if end < at:
            continue
        if end == at:
            return row
        first = data[at]
        if first in (_N, _T, _F):
            if lengths[row] != (5 if first == _F else 4):
                return row
            values[row], present[row] = first == _T, first != _N
            continue
        negative = first == _MINUS
        at += negative
        value = 0
        if at >= end or end - at > MOST_DIGITS - 1:
            return row
        while at < end:
            digit = int(data[at]) - _ZERO
            if digit < 0 or digit > 9:
                return row
            value = value * 10 - digit  # downwards: the lowest number has no opposite
            at += 1
        if value > 0 or (value == _LOWEST and not negative):
            return row
        values[row], present[row] = value if negative else -value, True
    return -1


@compiled(f"int64({READABLE}, int64[:], int64[:], uint8[::1], int64[::1], int64[::1])")
def _read_texts(data: Bytes, starts: Int64s, lengths: Int64s, into: Bytes, places: Int64s, taken: Int64s) -> int:
    """Gives the first that is none, -1 if all are."""
    for row in range(len(starts)):
        at, end, to = starts[row] + 1, starts[row] + lengths[row] - 1, places[row]
        if lengths[row] < 0 or (lengths[row] == 4 and data[at - 1] == _N):
            taken[row] = NULL
            continue
        if lengths[row] < 2 or data[at - 1] != QUOTE or data[end] != QUOTE:
            return row
        while at < end:
            letter = data[at]
            if letter != BACKSLASH:
                into[to] = letter
                at += 1
            elif at + 1 < end and data[at + 1] < 128 and LETTER[data[at + 1]]:
                into[to] = LETTER[data[at + 1]]
                at += 2
            elif at + 5 < end and data[at + 1] == _U:
                low = data[at + 5]
                into[to] = 16 * (data[at + 4] - _ZERO) + (low - _ZERO if low <= _NINE else low - _A + 10)
                at += 6
            else:
                return row
            to += 1
        taken[row] = to - places[row]
    return -1

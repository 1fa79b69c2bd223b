"""Columns as JSON, without an object for each value: byte for byte what orjson writes. The opposite of from_json.py.

numbers  [ 7 | null ]        flags  [ true | false ]       texts  [ "a" | "\\n" | null ]
objects  [ {"n":7,"t":"a"} | {"n":null,"t":null} ]         names in one order, no blanks
lists    [ [7,8] | [null,9] ]                              hex      [ "00000000000000ff" ]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.codecs.arrays import Bytes, Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.cells.letters import BACKSLASH, MOST_DIGITS, QUOTE, SHORT, heads
from app.codecs.compiled import READABLE, compiled
from app.codecs.weaving import one_of, same, woven

_NULL, _FALSE, _TRUE = b"null", b"false", b"true"
_NULL_BYTES, _HEX = np.frombuffer(_NULL, np.uint8), np.frombuffer(b"0123456789abcdef", np.uint8)
_MINUS, _ZERO, _U = (ord(letter) for letter in "-0u")
_ONE, _TEN = np.uint64(1), np.uint64(10)


def numbers_as_json(values: Int64s, present: Mask) -> Blobs:
    """Digits, or null."""
    data, lengths = np.empty(MOST_DIGITS * len(values), np.uint8), np.empty(len(values), np.int64)
    _write_numbers(np.ascontiguousarray(values), np.ascontiguousarray(present), data, lengths)
    return Blobs(data, np.arange(len(values)) * MOST_DIGITS, lengths)


def flags_as_json(values: Int64s, present: Mask) -> Blobs:
    """true, false or null."""
    return one_of((_NULL, _FALSE, _TRUE), np.where(present, 1 + (values != 0), 0))


def texts_as_json(texts: Blobs) -> Blobs:
    """Texts in UTF-8 between quotes, or null."""
    lengths = _json_lengths(texts.data, texts.starts, texts.lengths)
    starts = np.cumsum(lengths) - lengths
    data = np.empty(int(lengths.sum()), np.uint8)
    _write_texts(texts.data, texts.starts, texts.lengths, data, starts)
    return Blobs(data, starts, lengths)


def objects_of(names: Sequence[str], columns: Sequence[Blobs], count: int) -> Blobs:
    """So many objects, their values already JSON."""
    if not names:
        return same(b"{}", count)
    parts = list[Blobs]()
    for head, column in zip(heads(names), columns, strict=True):
        parts += [same(head, count), column]
    return woven([*parts, same(b"}", count)])


def lists_of(columns: Sequence[Blobs], count: int) -> Blobs:
    """So many lists, their values already JSON."""
    parts = [part for column in columns for part in (same(b",", count), column)]
    return woven([same(b"[", count), *parts[1:], same(b"]", count)])


def hex_as_json(values: Int64s) -> Blobs:
    """The 64 bits of each number as 16 hex digits between quotes."""
    digits = np.full((len(values), 18), QUOTE, np.uint8)
    octets = np.ascontiguousarray(values, ">i8").view(np.uint8).reshape(len(values), 8)
    digits[:, 1:17:2], digits[:, 2:17:2] = _HEX[octets >> 4], _HEX[octets & 15]
    return Blobs.of_rows(digits)


@compiled("void(int64[::1], boolean[::1], uint8[::1], int64[::1])")
def _write_numbers(values: Int64s, present: Mask, into: Bytes, lengths: Int64s) -> None:
    """A number has MOST_DIGITS bytes of room."""
    for row in range(len(values)):
        at, value = row * MOST_DIGITS, values[row]
        if not present[row]:
            for byte in range(4):
                into[at + byte] = _NULL_BYTES[byte]
            lengths[row] = 4
            continue
        if value < 0:
            into[at] = _MINUS
            at += 1
        left = np.uint64(value) if value >= 0 else np.uint64(-(value + 1)) + _ONE  # the lowest has no opposite
        digits, rest = 1, left // _TEN
        while rest:
            digits, rest = digits + 1, rest // _TEN
        for place in range(at + digits - 1, at - 1, -1):
            into[place] = _ZERO + np.int64(left % _TEN)
            left //= _TEN
        lengths[row] = at + digits - row * MOST_DIGITS


@compiled(f"int64[::1]({READABLE}, int64[:], int64[:])")
def _json_lengths(data: Bytes, starts: Int64s, lengths: Int64s) -> Int64s:
    taken = np.empty(len(starts), np.int64)
    for row in range(len(starts)):
        taken[row] = 4 if lengths[row] < 0 else 2 + lengths[row]
        for at in range(starts[row], starts[row] + lengths[row]):
            letter = data[at]
            if letter < 32 or letter in (QUOTE, BACKSLASH):
                taken[row] += 1 if SHORT[letter] else 5
    return taken


@compiled(f"void({READABLE}, int64[:], int64[:], uint8[::1], int64[::1])")
def _write_texts(data: Bytes, starts: Int64s, lengths: Int64s, into: Bytes, places: Int64s) -> None:
    for row in range(len(starts)):
        to = places[row]
        if lengths[row] < 0:
            for byte in range(4):
                into[to + byte] = _NULL_BYTES[byte]
            continue
        into[to] = QUOTE
        to += 1
        for at in range(starts[row], starts[row] + lengths[row]):
            letter = data[at]
            if letter >= 32 and letter not in (QUOTE, BACKSLASH):
                into[to] = letter
                to += 1
                continue
            into[to] = BACKSLASH
            if SHORT[letter]:
                into[to + 1] = SHORT[letter]
                to += 2
            else:
                into[to + 1] = _U
                into[to + 2] = into[to + 3] = _ZERO
                into[to + 4], into[to + 5] = _HEX[letter >> 4], _HEX[letter & 15]
                to += 6
        into[to] = QUOTE

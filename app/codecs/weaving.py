"""Strings put together from columns of strings, row by row, in compiled loops.

columns   [ a | bc ]  [ : | : ]  [ 1 | null ]
woven     [ a:1 | bc: ]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.codecs.arrays import Bytes, Int64s
from app.codecs.blobs import NULL, Blobs
from app.codecs.compiled import READABLE, compiled

_SHORT_BYTES = 32
"""Copied one by one faster than in one piece."""


def same(text: bytes, count: int) -> Blobs:
    """One string so many times."""
    return Blobs(np.frombuffer(text, np.uint8), np.zeros(count, np.int64), np.full(count, len(text), np.int64))


def one_of(texts: Sequence[bytes], which: Int64s) -> Blobs:
    """In each row the text of this number."""
    lengths = np.array([len(text) for text in texts], np.int64)
    return Blobs(np.frombuffer(b"".join(texts), np.uint8), (np.cumsum(lengths) - lengths)[which], lengths[which])


def woven(columns: Sequence[Blobs]) -> Blobs:
    """In each row the strings of all columns, one behind the other; a null adds nothing. At least one column."""
    lengths = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        lengths += np.maximum(column.lengths, 0)
    starts = np.cumsum(lengths) - lengths
    into, at = np.empty(int(lengths.sum()), np.uint8), starts.copy()
    for column in columns:
        _append(column.data, column.starts, column.lengths, into, at)
    return Blobs(into, starts, lengths)


def copied(column: Blobs) -> Blobs:
    """The same strings, one behind the other in a buffer of their own; nulls stay null."""
    alone = woven([column])
    return Blobs(alone.data, alone.starts, column.lengths)


def spread(column: Blobs, rows: Int64s, count: int) -> Blobs:
    """The strings at these of so many rows, and nulls in between; where they stand."""
    starts, lengths = np.zeros(count, np.int64), np.full(count, NULL, np.int64)
    starts[rows], lengths[rows] = column.starts, column.lengths
    return Blobs(column.data, starts, lengths)


def chosen(which: Int64s, columns: Sequence[Blobs]) -> Blobs:
    """In each row the string of the column of this number, null where that is."""
    if len(columns) == 1:
        return columns[0]
    taken = [Blobs(c.data, c.starts, np.where(which == at, c.lengths, NULL)) for at, c in enumerate(columns)]
    copied = woven(taken)
    missing = np.logical_and.reduce([column.lengths < 0 for column in taken])
    return Blobs(copied.data, copied.starts, np.where(missing, NULL, copied.lengths))


@compiled(f"void({READABLE}, int64[:], int64[:], uint8[::1], int64[::1])")
def _append(data: Bytes, starts: Int64s, lengths: Int64s, into: Bytes, at: Int64s) -> None:
    """Copies each string to its row's place, and moves that behind it."""
    for row in range(len(starts)):
        start, to, length = starts[row], at[row], max(lengths[row], 0)
        if length < _SHORT_BYTES:
            for byte in range(length):
                into[to + byte] = data[start + byte]
        else:
            into[to : to + length] = data[start : start + length]
        at[row] = to + length

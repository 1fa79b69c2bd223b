"""Columns as Avro writes their values, without an object for each: a record is such cells, one behind the other.

nullable     [ 00 | 02 value ]       null, and the second branch of ["null", type]
otherwise    [ value ]               a long as zig-zag varint, a text behind its length, a boolean as 00 or 01
"""

from __future__ import annotations

import numpy as np

from app.codecs.arrays import Bytes, Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.compiled import compiled
from app.codecs.weaving import one_of, woven

_LONG_BYTES = 11
"""Of a long at most, its branch included."""
_BITS, _MORE = np.uint64(127), np.uint64(128)


def number_cells(values: Int64s, present: Mask, *, nullable: bool) -> Blobs:
    """Longs. ValueError if one is null that may not be."""
    _refuse_nulls(present, nullable=nullable)
    data, lengths = np.empty(_LONG_BYTES * len(values), np.uint8), np.empty(len(values), np.int64)
    _write_longs(np.ascontiguousarray(values), np.ascontiguousarray(present), nullable, data, lengths)
    return Blobs(data, np.arange(len(values)) * _LONG_BYTES, lengths)


def flag_cells(values: Int64s, present: Mask, *, nullable: bool) -> Blobs:
    """Booleans. ValueError if one is null that may not be."""
    _refuse_nulls(present, nullable=nullable)
    is_set = (values != 0).astype(np.int64)
    if not nullable:
        return one_of((b"\0", b"\1"), is_set)
    return one_of((b"\0", b"\2\0", b"\2\1"), np.where(present, 1 + is_set, 0))


def text_cells(texts: Blobs, *, nullable: bool) -> Blobs:
    """Strings, given in UTF-8. ValueError if one is null that may not be."""
    present = texts.lengths >= 0
    _refuse_nulls(present, nullable=nullable)
    lengths = np.maximum(texts.lengths, 0)
    return woven([number_cells(lengths, present, nullable=nullable), texts])


def _refuse_nulls(present: Mask, *, nullable: bool) -> None:
    if not nullable and not present.all():
        raise ValueError(f"value {int(np.flatnonzero(~present)[0])} is null, and its field may not be")


@compiled("void(int64[::1], boolean[::1], boolean, uint8[::1], int64[::1])")
def _write_longs(values: Int64s, present: Mask, nullable: bool, into: Bytes, lengths: Int64s) -> None:
    for row in range(len(values)):
        at = row * _LONG_BYTES
        if nullable:
            into[at] = 2 if present[row] else 0
            at += 1
        if present[row]:
            value = values[row]
            left = np.uint64((value << 1) ^ (value >> 63))
            while left >= _MORE:
                into[at] = np.uint8(left & _BITS) | np.uint8(128)
                left >>= np.uint64(7)
                at += 1
            into[at] = np.uint8(left)
            at += 1
        lengths[row] = at - row * _LONG_BYTES

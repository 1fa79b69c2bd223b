"""Keys and values as the records of Kafka's record batches, message format 2, without an object for each.

    record i:  [ length | 0 attributes | time delta | i | key length | key | value length | value | 0 headers ]

Lengths and numbers are zig-zag varints, a length of -1 is null.

The opposite of record_batches.py, for records without headers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from app.codecs.arrays import Bytes, Int64s
from app.codecs.blobs import Blobs
from app.codecs.compiled import READABLE, compiled, inlined

MOST_OVERHEAD_BYTES = 32
"""Of a record: attributes, number of headers, and five varints, one of which may be of 64 bits."""

_PLACES = "Array(int64, 1, 'A', True)"


def pieces(keys: Blobs, values: Blobs, most_bytes: int) -> Iterator[slice]:
    """Consecutive records whose encoded form is no longer than `most_bytes`, at least one in each piece."""
    sizes = np.maximum(keys.lengths, 0) + np.maximum(values.lengths, 0) + MOST_OVERHEAD_BYTES
    ends = np.cumsum(sizes)
    first = 0
    while first < len(ends):
        below = ends[first] - sizes[first] + most_bytes
        last = max(first + 1, int(np.searchsorted(ends, below, side="right")))
        yield slice(first, last)
        first = last


def written_records(keys: Blobs, values: Blobs, behind_ms: Int64s) -> Bytes:
    """The records of one batch, in order, each so long behind the batch's first. Null keys and values stay null."""
    room = int(np.maximum(keys.lengths, 0).sum() + np.maximum(values.lengths, 0).sum())
    into = np.empty(room + MOST_OVERHEAD_BYTES * len(keys), np.uint8)
    used = _write(keys.data, keys.starts, keys.lengths, values.data, values.starts, values.lengths, behind_ms, into)
    return into[:used]


@inlined
def _varint_bytes(number: int) -> int:
    """How many bytes a number takes."""
    zigzag, width = (number << 1) ^ (number >> 63), 1
    while zigzag >= 128:
        zigzag >>= 7
        width += 1
    return width


@compiled("int64(uint8[::1], int64, int64)")
def _put_varint(into: Bytes, at: int, number: int) -> int:
    zigzag = (number << 1) ^ (number >> 63)
    while zigzag >= 128:
        into[at] = (zigzag & 127) | 128
        zigzag >>= 7
        at += 1
    into[at] = zigzag
    return at + 1


@compiled(f"int64({READABLE}, {_PLACES}, {_PLACES}, {READABLE}, {_PLACES}, {_PLACES}, {_PLACES}, uint8[::1])")
def _write(
    key_data: Bytes,
    key_starts: Int64s,
    key_lengths: Int64s,
    value_data: Bytes,
    value_starts: Int64s,
    value_lengths: Int64s,
    behind_ms: Int64s,
    into: Bytes,
) -> int:
    """How many bytes were written."""
    at = 0
    for i in range(len(key_starts)):
        key_length, value_length = key_lengths[i], value_lengths[i]
        length = 2 + _varint_bytes(behind_ms[i]) + _varint_bytes(i)
        length += _varint_bytes(key_length) + _varint_bytes(value_length)
        at = _put_varint(into, at, length + max(key_length, 0) + max(value_length, 0))
        into[at] = 0  # attributes
        at = _put_varint(into, at + 1, behind_ms[i])
        at = _put_varint(into, at, i)
        at = _put_varint(into, at, key_length)
        for byte in range(key_starts[i], key_starts[i] + key_length):
            into[at] = key_data[byte]
            at += 1
        at = _put_varint(into, at, value_length)
        for byte in range(value_starts[i], value_starts[i] + value_length):
            into[at] = value_data[byte]
            at += 1
        into[at] = 0  # headers
        at += 1
    return at

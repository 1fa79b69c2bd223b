"""The walk over records of Kafka's message format 2 in a buffer, as Kafka's Java client takes them."""

from __future__ import annotations

from app.codecs.arrays import Bytes, Int64s
from app.codecs.blobs import NULL
from app.codecs.compiled import READABLE, compiled
from app.domain.fingerprint import INT64_MAX


@compiled(f"UniTuple(int64, 2)({READABLE}, int64, int64)")
def _varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """A number of 32 bits, and where it ends; an end below zero if it is cut off or too long."""
    if at < end and data[at] < 0x80:
        short = int(data[at])
        return short >> 1 ^ -(short & 1), at + 1
    value, shift = 0, 0
    while at < end and shift < 35:
        byte = int(data[at])
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            value &= 0xFFFFFFFF  # the fifth byte may have more
            return value >> 1 ^ -(value & 1), at
        shift += 7
    return 0, -1


@compiled(f"UniTuple(int64, 2)({READABLE}, int64, int64)")
def _varlong(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """The same of 64 bits."""
    value, shift = 0, 0
    while at < end and shift < 70:
        byte = int(data[at])
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return (value >> 1 & INT64_MAX) ^ -(value & 1), at
        shift += 7
    return 0, -1


@compiled(f"UniTuple(int64, 3)({READABLE}, int64, int64)")
def _blob(data: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Start, length and end of a key or value; an end below zero if it is cut off."""
    length, start = _varint(data, at, end)
    if start < 0 or start + max(length, 0) > end:
        return 0, 0, -1
    return start, max(length, NULL), start + max(length, 0)


@compiled(f"int64({READABLE}, int64, int64, int64)")
def _headers_end(data: Bytes, at: int, end: int, count: int) -> int:
    for _ in range(count):
        _, length, at = _blob(data, at, end)
        if at < 0 or length < 0:
            return -1
        _, length, at = _blob(data, at, end)
        if at < 0:
            return -1
    return at


@compiled(f"int64({READABLE}, int64, int64, int64, int64[:,::1])")
def _read_one(data: Bytes, at: int, end: int, row: int, fields: Int64s) -> int:
    """Reads a record into a row of `fields`, offset and time as deltas; gives where it ends, -1 if it is none."""
    length, at = _varint(data, at, end)
    if at < 0 or length < 0 or at + length > end or at == end:
        return -1
    record_end = at + length
    time_delta, at = _varlong(data, at + 1, record_end)
    if at < 0:
        return -1
    offset_delta, at = _varint(data, at, record_end)
    if at < 0:
        return -1
    key_at, key_length, at = _blob(data, at, record_end)
    if at < 0:
        return -1
    value_at, value_length, at = _blob(data, at, record_end)
    if at < 0:
        return -1
    header_count, at = _varint(data, at, record_end)
    if at < 0 or header_count < 0 or _headers_end(data, at, record_end, header_count) != record_end:
        return -1
    fields[row, 0], fields[row, 1] = offset_delta, time_delta
    fields[row, 2], fields[row, 3], fields[row, 4], fields[row, 5] = key_at, key_length, value_at, value_length
    fields[row, 6], fields[row, 7], fields[row, 8] = at, record_end - at, header_count
    return record_end


@compiled(f"int64({READABLE}, int64[::1], int64[::1], int64[:,::1], int64, int64[:,::1])")
def walk(data: Bytes, ends: Int64s, lasts: Int64s, about: Int64s, from_offset: int, fields: Int64s) -> int:
    """How many records were read; -1 - batch for one that holds something else.

    `ends` and `lasts` are where each run ends, in bytes and in batches; `fields` gets a row of each record: offset,
    time, then where its key, value and headers begin and how long they are, and how many headers.
    """
    row, at, batch, lowest = 0, 0, 0, from_offset
    for run in range(len(ends)):
        end = ends[run]
        while batch < lasts[run]:
            lowest = max(lowest, about[batch, 1])
            for _ in range(about[batch, 0]):
                at = _read_one(data, at, end, row, fields)
                if at < 0 or fields[row, 0] > about[batch, 4]:
                    return -1 - batch
                fields[row, 0] += about[batch, 1]
                fields[row, 1] = about[batch, 3] if about[batch, 3] >= 0 else about[batch, 2] + fields[row, 1]
                if fields[row, 0] >= lowest:
                    lowest = fields[row, 0] + 1
                    row += 1
            batch += 1
        if at != end:
            return -batch
    return row

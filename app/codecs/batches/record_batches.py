"""Records out of Kafka's record batches, message format 2, without an object for each batch or record.

    at   0             8        12             16       17         21           23                  27 ... 57  61
         [ base offset | length | leader epoch | format | checksum | attributes | last offset delta |  ...   | records ]
                                ^ `length` counts from here        ^ the checksum is over what stands from here

    record: [ length | attributes | time delta | offset delta | key length | key | value length | value | headers ]

A batch: a header of 61 bytes (BATCH), then its records, together compressed or not. A record: length, attributes,
timestamp delta, offset delta, key, value, headers; numbers are zig-zag varints, a key, value or header value is its
length (below zero for null) and its bytes. What brokers take is read as Kafka's Java client reads it: Spark uses that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Bytes, Int64s
from app.codecs.batches.record_headers import MOST_HEADERS, RecordHeaders
from app.codecs.batches.record_walk import walk
from app.codecs.blobs import NULL, Blobs
from app.codecs.compiled import READABLE, compiled
from app.domain.records import TOO_MANY_HEADERS

Batches = npt.NDArray[np.void]
"""Headers of record batches, each a BATCH."""

CODEC_MASK, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
"""Of a batch's attributes."""
BATCH = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("format", "i1"),
        ("checksum", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("first_timestamp_ms", ">i8"),
        ("last_timestamp_ms", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
HEADER_BYTES, CHECKED_FROM, UNCOUNTED_BYTES = BATCH.itemsize, 21, 12
"""The checksum is over what follows itself; `length` does not count the offset and itself."""
FORMAT_AT, FORMAT = 16, 2


class Uncompressed(NamedTuple):
    """Batches whose records stand one behind the other, uncompressed."""

    payload: bytes
    batches: Batches


class Records(NamedTuple):
    """Records in the order of the log. `unread`: why, by offset, those were refused whose values are nulls here."""

    offsets: Int64s
    timestamps_ms: Int64s
    keys: Blobs
    values: Blobs
    headers: RecordHeaders
    unread: Mapping[int, str]


def refused_records(batch: Batches, offsets: range, why: str) -> Records:
    """Records of one batch that nobody reads: nulls, at the batch's first time, or at the broker's."""
    first_ms, by_broker_ms = _about(batch)[0, 2:4]
    count, time_ms = len(offsets), by_broker_ms if by_broker_ms >= 0 else first_ms
    return Records(
        np.arange(offsets.start, offsets.stop, dtype=np.int64),
        np.full(count, time_ms, np.int64),
        Blobs.nulls(count),
        Blobs.nulls(count),
        RecordHeaders.none(count),
        dict.fromkeys(offsets, why),
    )


def batches_in(fetched: bytes) -> tuple[Int64s, Batches]:
    """Where each whole batch begins, and their headers; a last one that is cut off is left out.

    ValueError for another format, and for one that is too short to have a header.
    """
    data = np.frombuffer(fetched, np.uint8)
    starts = _batch_starts(data)
    if len(starts) and starts[-1] < 0:
        raise ValueError(_why_no_batch(data[-1 - starts[-1] :]))
    if not len(starts):
        return starts, np.empty(0, BATCH)
    return starts, np.ndarray((len(data) - HEADER_BYTES + 1,), BATCH, fetched, strides=(1,))[starts]


def read_records(runs: Sequence[Uncompressed], from_offset: int) -> Records:
    """All records at `from_offset` or above, by rising offsets: one that stands before another in front of it is passed
    over. ValueError if the bytes of a run are no such records."""
    data = np.frombuffer(runs[0].payload if len(runs) == 1 else b"".join(run.payload for run in runs), np.uint8)
    ends = np.cumsum(np.array([len(run.payload) for run in runs], np.int64))
    lasts = np.cumsum(np.array([len(run.batches) for run in runs], np.int64))
    about = np.concatenate([_about(run.batches) for run in runs]) if runs else np.empty((0, 5), np.int64)
    fields = np.empty((int(about[:, 0].sum()), 9), np.int64)
    read = walk(data, ends, lasts, about, from_offset, fields)
    if read < 0:
        raise ValueError(f"the record batch at offset {about[-1 - read, 1]} holds something else than records")
    return _records(data, *np.ascontiguousarray(fields[:read].T))


def _records(data: Bytes, offsets: Int64s, times_ms: Int64s, *places: Int64s) -> Records:
    """`places`: where key, value and headers of each begin and how long they are, and how many headers."""
    key_at, key_length, value_at, value_length, headers_at, headers_length, header_counts = places
    many = header_counts > MOST_HEADERS
    if many.any():
        value_length, header_counts = np.where(many, NULL, value_length), np.where(many, 0, header_counts)
    keys, values = Blobs(data, key_at, key_length), Blobs(data, value_at, value_length)
    headers = RecordHeaders(Blobs(data, headers_at, headers_length), header_counts)
    return Records(offsets, times_ms, keys, values, headers, dict.fromkeys(offsets[many].tolist(), TOO_MANY_HEADERS))


def _why_no_batch(data: Bytes) -> str:
    if data[FORMAT_AT] == FORMAT:
        return "a record batch is shorter than its header"
    return (
        f"records of message format {data[FORMAT_AT]}; brokers have written {FORMAT} since 0.11: "
        "copy the topic into a new one"
    )


def _about(batches: Batches) -> Int64s:
    """How many records, the first's offset, its time, the time of all where the broker gives it (else -1), the last's
    offset behind the first's."""
    about = np.empty((len(batches), 5), np.int64)
    by_broker = (batches["attributes"] & LOG_APPEND_TIME) != 0
    about[:, 0], about[:, 1] = batches["record_count"], batches["base_offset"]
    about[:, 2] = batches["first_timestamp_ms"]
    about[:, 3] = np.where(by_broker, batches["last_timestamp_ms"], -1)
    about[:, 4] = batches["last_offset_delta"]
    return about


@compiled(f"int64[::1]({READABLE})")
def _batch_starts(data: Any) -> Any:
    """The last one is -1 - start if that batch has no room for a header."""
    starts, found, at = np.empty(len(data) // 61 + 1, np.int64), 0, 0
    while at + FORMAT_AT < len(data):
        length = 0
        for byte in data[at + 8 : at + 12]:
            length = length << 8 | int(byte)
        if length < 49 or length >= 1 << 31 or data[at + FORMAT_AT] != FORMAT:
            starts[found] = -1 - at
            return starts[: found + 1].copy()
        if at + 12 + length > len(data):
            break
        starts[found] = at
        found += 1
        at += 12 + length
    return starts[:found].copy()

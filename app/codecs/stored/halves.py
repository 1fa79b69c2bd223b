"""Halves of joins, and what alerts watch, as the changelog holds them (docs/formats.md). Layout 1.

    key    01 04 (of an alert 09) | join or alert u16 | version 4 bytes | side u8 (0 left, 1 right) | offset i64
    value  01 | waits u8 | at i64 | id, and of a half that waits: timestamp i64, values, key, value, headers

Numbers are big-endian. Each of the parts behind `at` is its length i32 (-1 for null) and its bytes; id, values and
headers are JSON (header values as hex).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import orjson

from app.codecs.arrays import Bytes, Int64s, Mask
from app.codecs.batches.record_headers import Headers
from app.codecs.blobs import NULL, Blobs
from app.codecs.compiled import READABLE, compiled
from app.codecs.stored.changelog import HALF, LAYOUT, WATCHED
from app.codecs.weaving import woven
from app.domain.errors import LayoutError
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.pairs.pairing import Pairing

SIDE_SHIFT = 62
"""A half's place is one number: its offset, and behind it 1 for the right side. No offset is so high."""
OFFSET_BITS = (1 << SIDE_SHIFT) - 1
NO_HEADERS = b"[]"

_KINDS: Mapping[type[Pairing], int] = {Join: HALF, Alert: WATCHED}
_KEY = np.dtype([("head", "V8"), ("side", "u1"), ("offset", ">i8")])
_HEAD = np.dtype([("layout", "u1"), ("waits", "u1"), ("at_us", ">i8")])
_TIMESTAMP = np.dtype([("length", ">i4"), ("timestamp_ms", ">i8")])
_LENGTH = np.dtype(">i4")
_PARTS = 6
_HEAD_BYTES, _LENGTH_BYTES, _NUMBER_BYTES = _HEAD.itemsize, 4, 8


class Halves(NamedTuple):
    """Some halves by column. Of those that do not wait nothing counts behind `ids`.

    `ids` and `columns` are JSON, the latter an object of what a joined record or an alert will hold; `keys`, `values`
    and `headers` are the record's as it came.
    """

    waits: Mask
    at_us: Int64s
    ids: Blobs
    timestamps_ms: Int64s
    columns: Blobs
    keys: Blobs
    values: Blobs
    headers: Blobs

    def __len__(self) -> int:  # halves, not fields
        return len(self.at_us)


def half_head(of: Pairing) -> bytes:
    """What the keys of all halves of a join's or alert's version begin with."""
    return struct.pack(">BBH4s", LAYOUT, _KINDS[type(of)], of.number, bytes.fromhex(of.version))


def half_keys(of: Pairing, places: Int64s) -> Blobs:
    """Keys of the halves at these places."""
    keys = np.empty(len(places), _KEY)
    keys["head"] = np.void(half_head(of))
    keys["side"], keys["offset"] = places >> SIDE_SHIFT, places & OFFSET_BITS
    return Blobs.of_rows(keys.view(np.uint8).reshape(len(places), _KEY.itemsize))


def half_places(keys: Blobs) -> Int64s:
    """The places that keys name: the inverse of `half_keys`. LayoutError if one is no key of a half."""
    odd = np.flatnonzero(keys.lengths != _KEY.itemsize)
    if len(odd):
        raise LayoutError(f"key {(keys[int(odd[0])] or b'').hex()} of a half is not of {_KEY.itemsize} bytes")
    held = keys.matrix(_KEY.itemsize).view(_KEY).ravel()
    return held["offset"].astype(np.int64) | held["side"].astype(np.int64) << SIDE_SHIFT


def waiting_values(halves: Halves) -> Blobs:
    """Values of halves that wait."""
    timestamps = np.empty(len(halves), _TIMESTAMP)
    timestamps["length"], timestamps["timestamp_ms"] = _NUMBER_BYTES, halves.timestamps_ms
    parts = [*_lengthened(halves.ids), _rows(timestamps)]
    for part in (halves.columns, halves.keys, halves.values, halves.headers):
        parts += _lengthened(part)
    return woven([_heads(halves.at_us, waits=True), *parts])


def settled_values(at_us: Int64s, ids: Blobs) -> Blobs:
    """Values of halves that wait no more: what they were but their ids (JSON) is gone."""
    return woven([_heads(at_us, waits=False), *_lengthened(ids)])


def decode_halves(values: Blobs) -> Halves:
    """The inverse of `waiting_values` and `settled_values`. LayoutError if one is no half of this layout."""
    starts, lengths = (np.zeros((_PARTS, len(values)), np.int64) for _ in range(2))
    odd = _find_parts(values.data, values.starts, values.lengths, starts, lengths)
    if odd >= 0:
        value = values[odd] or b""
        raise LayoutError(
            f"value of a half, {len(value)} bytes that begin with {value[:2].hex()}: this version reads layout {LAYOUT}"
        )
    heads = Blobs(values.data, values.starts, np.full(len(values), _HEAD_BYTES)).matrix(_HEAD_BYTES).view(_HEAD).ravel()
    parts = [Blobs(values.data, *places) for places in zip(starts, lengths, strict=True)]
    waits = heads["waits"] != 0
    timestamps = np.zeros(len(values), np.int64)
    told = parts[1].at(waits).matrix(_NUMBER_BYTES).view(">i8").ravel()
    timestamps[waits] = told
    return Halves(waits, heads["at_us"].astype(np.int64), parts[0], timestamps, *parts[2:])


def headers_as_json(headers: Headers) -> bytes:
    """A record's headers as a half that waits holds them."""
    return orjson.dumps([[name, value.hex()] for name, value in headers]) if headers else NO_HEADERS


def headers_from_json(held: bytes | None) -> Headers:
    """The inverse of `headers_as_json`."""
    return tuple((name, bytes.fromhex(text)) for name, text in orjson.loads(held or NO_HEADERS))


def _heads(at_us: Int64s, *, waits: bool) -> Blobs:
    heads = np.empty(len(at_us), _HEAD)
    heads["layout"], heads["waits"], heads["at_us"] = LAYOUT, waits, at_us
    return _rows(heads)


def _lengthened(part: Blobs) -> list[Blobs]:
    return [_rows(part.lengths.astype(_LENGTH)), part]


def _rows(held: np.ndarray[tuple[int], np.dtype[np.void]] | np.ndarray[tuple[int], np.dtype[np.int32]]) -> Blobs:
    return Blobs.of_rows(held.view(np.uint8).reshape(len(held), held.dtype.itemsize))


@compiled(f"int64({READABLE}, int64[:], int64[:], int64[:,::1], int64[:,::1])")
def _find_parts(data: Bytes, starts: Int64s, lengths: Int64s, found: Int64s, found_lengths: Int64s) -> int:
    """Where the parts behind each value's head stand; gives the first value that has others, -1 if none has."""
    for row in range(len(starts)):
        at, end = starts[row] + _HEAD_BYTES, starts[row] + lengths[row]
        if at > end or data[starts[row]] != LAYOUT:
            return row
        for part in range(_PARTS if data[starts[row] + 1] else 1):
            if at + _LENGTH_BYTES > end:
                return row
            length = 0
            for byte in range(at, at + _LENGTH_BYTES):
                length = length << 8 | int(data[byte])
            if length >= 1 << 31:
                length = NULL
            at += _LENGTH_BYTES
            if part == 1 and length != _NUMBER_BYTES:
                return row
            found[part, row], found_lengths[part, row] = at, length
            at += max(length, 0)
        if at != end:
            return row
    return -1

"""Halves of joins, and what alerts watch, as the changelog holds them (docs/formats.md). Layout 1.

    key    01 04 (of an alert 09) | join or alert u16 | version 4 bytes | side u8 (0 left, 1 right) | offset i64
    value  01 | waits u8 | at i64 | id, and of a half that waits: timestamp i64, values, key, value, headers

Numbers are big-endian. Each of the parts behind `at` is its length i32 (-1 for null) and its bytes; id, values and
headers are JSON (header values as hex).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import orjson

from app.codecs.batches.record_headers import Headers
from app.codecs.stored.changelog import HALF, LAYOUT, WATCHED
from app.domain.errors import LayoutError
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join, Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Value

_KEY = struct.Struct(">BBH4sBq")
_HEAD = struct.Struct(">BBq")
_LENGTH = struct.Struct(">i")
_SIDES = (Side.LEFT, Side.RIGHT)
_KINDS: Mapping[type[Pairing], int] = {Join: HALF, Alert: WATCHED}


class WaitingHalf(NamedTuple):
    """What a half still needs while it waits: its record as it came, and its columns of the joined record."""

    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    columns: dict[str, Value]


class StoredHalf(NamedTuple):
    """A half that counts. `waiting` is None once it met another or left: then only its id is remembered."""

    side: Side
    offset: int
    id: Value
    at_us: int
    waiting: WaitingHalf | None


def half_head(of: Pairing) -> bytes:
    """What the keys of all halves of a join's or alert's version begin with."""
    return struct.pack(">BBH4s", LAYOUT, _KINDS[type(of)], of.number, bytes.fromhex(of.version))


def half_key(of: Pairing, side: Side, offset: int) -> bytes:
    return _KEY.pack(LAYOUT, _KINDS[type(of)], of.number, bytes.fromhex(of.version), _SIDES.index(side), offset)


def side_and_offset(key: bytes) -> tuple[Side, int]:
    """Side and offset that a half's key names."""
    *_, side, offset = _KEY.unpack(key)
    return _SIDES[side], offset


def encode_half(half: StoredHalf) -> bytes:
    waiting = half.waiting
    parts = [orjson.dumps(half.id)]
    if waiting is not None:
        headers = orjson.dumps([[name, value.hex()] for name, value in waiting.headers])
        parts.append(struct.pack(">q", waiting.timestamp_ms))
        parts += [orjson.dumps(waiting.columns), waiting.key, waiting.value, headers]  # type: ignore[list-item]
    return _HEAD.pack(LAYOUT, waiting is not None, half.at_us) + b"".join(map(_with_length, parts))


def decode_half(key: bytes, value: bytes) -> StoredHalf:
    """Inverse of `half_key` and `encode_half`; LayoutError if they are no half of this layout."""
    side, offset = side_and_offset(key)
    layout, waits, at_us = _HEAD.unpack_from(value)
    if layout != LAYOUT:
        raise LayoutError(f"half {key.hex()} of layout {layout}, this version reads {LAYOUT}")
    parts = list(_parts(value, _HEAD.size))
    waiting = _waiting(parts[1:]) if waits else None
    return StoredHalf(side, offset, orjson.loads(parts[0] or b"null"), at_us, waiting)


def _waiting(parts: list[bytes | None]) -> WaitingHalf:
    timestamp, columns, key, value, headers = parts
    (timestamp_ms,) = struct.unpack(">q", timestamp or b"")
    named = tuple((name, bytes.fromhex(text)) for name, text in orjson.loads(headers or b"[]"))
    return WaitingHalf(timestamp_ms, key, value, named, orjson.loads(columns or b"{}"))


def _with_length(part: bytes | None) -> bytes:
    return _LENGTH.pack(-1) if part is None else _LENGTH.pack(len(part)) + part


def _parts(value: bytes, at: int) -> Iterator[bytes | None]:
    while at < len(value):
        (length,) = _LENGTH.unpack_from(value, at)
        at += _LENGTH.size
        yield None if length < 0 else value[at : at + length]
        at += max(length, 0)

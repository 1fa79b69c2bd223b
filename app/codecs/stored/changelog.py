"""Changelog records of a source: rows, blocks and the marker (docs/formats.md). Layout 1.

Keys begin with layout and kind. Numbers in keys are big-endian, so keys of one view sort by window;
cells in values are little-endian, as numpy holds them.

    row    key   01 01 | view u16 | version 4 bytes | window kind u8 [| start i64] | groups
           value 01 | flags u8 (bit 0: set by a correction) | cells i64...
    marker key   01 02 | source u16
           value JSON (app.codecs.stored.marker)
    block  key   01 03 | view u16 | version 4 bytes | topic number u8 | block u32
           value 01 | count i64 | fingerprint i64

A group is a tag (0 null, 1 integer, 2 text) and its value: 8 bytes for a number (zero where null),
length u16 and UTF-8 for text (nothing where null).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s, Mask
from app.domain.errors import LayoutError

LAYOUT = 1
ROW, MARKER, BLOCK, HALF, CLOSED_ROW, MARK, REVISION, WATCHED, OPEN_ROW = 1, 2, 3, 4, 5, 6, 8, 9, 10

NULL_TAG, INTEGER_TAG, TEXT_TAG = 0, 1, 2
NULL_INTEGER = -(1 << 63)
"""How a null group value is held in integer arrays; no column's bounds allow it."""


def value_of(held: Any) -> int | str | None:
    """A group value as users know it, from how integer and text columns hold it."""
    if held is None or isinstance(held, str):
        return held
    return None if held == NULL_INTEGER else int(held)


ROW_HEAD = struct.Struct(">BBH4s")
_BLOCK_KEY = struct.Struct(">BBH4sBI")
_BLOCK_VALUE = struct.Struct("<Bqq")
_VALUE_HEAD = bytes((LAYOUT, 0))
_FLAGS_AT, _CORRECTED = 1, 1


class BlockKey(NamedTuple):
    """Which block of 65,536 offsets of a topic a count and fingerprint belong to."""

    view_number: int
    version: str
    topic_number: int
    block: int


def head_of(kind: int) -> bytes:
    """What every key of this kind begins with."""
    return bytes((LAYOUT, kind))


def kind_of(key: bytes) -> int:
    """What a record of the changelog is (ROW, MARKER …); LayoutError for a layout or kind it could not be."""
    if len(key) < 2 or key[0] != LAYOUT:
        raise LayoutError(f"changelog key {key.hex()} is not of layout {LAYOUT}")
    if not ROW <= key[1] <= MARK and key[1] not in (REVISION, WATCHED, OPEN_ROW):
        raise LayoutError(f"changelog key {key.hex()} is of kind {key[1]}, which this version does not know")
    return key[1]


def view_of(key: bytes) -> tuple[int, str]:
    """View number and version of a row's or block's key."""
    _, _, number, version = ROW_HEAD.unpack_from(key)
    return number, version.hex()


def block_head(view_number: int, version: str) -> bytes:
    """What the keys of all blocks of a view's version begin with."""
    return ROW_HEAD.pack(LAYOUT, BLOCK, view_number, bytes.fromhex(version))


def marker_key(source_number: int) -> bytes:
    return struct.pack(">BBH", LAYOUT, MARKER, source_number)


def encode_rows(cells: Int64s, corrected: Mask | None = None) -> list[bytes]:
    """Values of many rows, from a (rows, cells) array; `corrected` are those that a correction has set."""
    return as_bytes(row_matrix(cells, corrected))


def row_matrix(cells: Int64s, corrected: Mask | None = None) -> npt.NDArray[np.uint8]:
    """As `encode_rows`, as a (rows, `row_width`) array of bytes."""
    width = row_width(cells.shape[1])
    rows = np.empty((len(cells), width), np.uint8)
    rows[:, : len(_VALUE_HEAD)] = np.frombuffer(_VALUE_HEAD, np.uint8)
    if corrected is not None:
        rows[:, _FLAGS_AT] = corrected * _CORRECTED
    rows[:, len(_VALUE_HEAD) :] = np.ascontiguousarray(cells, dtype="<i8").view(np.uint8)
    return rows


def as_bytes(rows: npt.NDArray[np.uint8]) -> list[bytes]:
    """Each row as a string of bytes, zeros at its end included."""
    whole = np.ascontiguousarray(rows).view(f"V{rows.shape[1]}")
    strings: list[bytes] = whole.ravel().tolist()  # six times as fast as slicing
    return strings


def row_width(cell_count: int) -> int:
    """Bytes of a row's value."""
    return len(_VALUE_HEAD) + cell_count * 8


def decode_rows(values: Sequence[bytes], cell_count: int) -> Int64s:
    """A (rows, cells) array from row values; LayoutError if one has another layout or width."""
    width = row_width(cell_count)
    if odd := [value for value in values if len(value) != width]:
        raise odd_row(odd[0], cell_count)
    return decode_row_matrix(np.frombuffer(b"".join(values), np.uint8).reshape(len(values), width))


def decode_row_matrix(values: npt.NDArray[np.uint8]) -> Int64s:
    """As `decode_rows`, of a (rows, `row_width`) array of bytes."""
    head = len(_VALUE_HEAD)
    odd = (values[:, 0] != LAYOUT) | (values[:, _FLAGS_AT] > _CORRECTED)
    if odd.any():
        raise odd_row(values[odd][0].tobytes(), (values.shape[1] - head) // 8)
    return np.ascontiguousarray(values[:, head:]).view("<i8").astype(np.int64, copy=False)


def corrected_of(values: npt.NDArray[np.uint8]) -> Mask | None:
    """Which of the rows of a (rows, `row_width`) array of bytes a correction has set; None where none."""
    corrected: Mask = values[:, _FLAGS_AT] == _CORRECTED
    return corrected if corrected.any() else None


def odd_row(value: bytes, cell_count: int) -> LayoutError:
    """In words, what is wrong with a value that is no row of so many cells."""
    return LayoutError(
        f"row value of {len(value)} bytes, layout and flags {value[:2].hex()}: "
        f"this version reads {row_width(cell_count)} bytes, {_VALUE_HEAD.hex()} or {bytes((LAYOUT, _CORRECTED)).hex()}"
    )


def encode_block(key: BlockKey, count: int, fingerprint: int) -> tuple[bytes, bytes]:
    """Key and value of a block's record."""
    packed = _BLOCK_KEY.pack(LAYOUT, BLOCK, key.view_number, bytes.fromhex(key.version), key.topic_number, key.block)
    return packed, _BLOCK_VALUE.pack(LAYOUT, count, fingerprint)


def decode_block(key: bytes, value: bytes) -> tuple[BlockKey, int, int]:
    """Inverse of `encode_block`: key, count, fingerprint. LayoutError if they are no block of this layout."""
    if len(key) != _BLOCK_KEY.size or len(value) != _BLOCK_VALUE.size or value[0] != LAYOUT:
        raise LayoutError(f"block {key.hex()} with value {value.hex()} is not of layout {LAYOUT}")
    _, _, number, version, topic_number, block = _BLOCK_KEY.unpack(key)
    _, count, fingerprint = _BLOCK_VALUE.unpack(value)
    return BlockKey(number, version.hex(), topic_number, block), count, fingerprint

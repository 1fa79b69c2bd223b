"""Keys of stored rows: one at a time, and many at once by column (docs/formats.md). Layout 1.

Integer groups are held as int64 arrays with NULL_INTEGER for null, text groups as arrays of str and None.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.changelog import (
    ALL_TIME,
    INTEGER_TAG,
    LAYOUT,
    NULL_INTEGER,
    NULL_TAG,
    ROW,
    ROW_HEAD,
    TEXT_TAG,
    TUMBLING,
    Int64s,
)
from app.domain.errors import LayoutError
from app.domain.fold import RowKey
from app.domain.records import Value
from app.domain.source import Kind
from app.domain.view import AllTime, View


def row_prefix(view: View) -> bytes:
    """What every row key of this view and version begins with."""
    window = ALL_TIME if isinstance(view.window, AllTime) else TUMBLING
    return ROW_HEAD.pack(LAYOUT, ROW, view.number, bytes.fromhex(view.version)) + bytes((window,))


def encode_key(view: View, key: RowKey) -> bytes:
    """One row's key."""
    window = b"" if key.window_start_us is None else struct.pack(">q", key.window_start_us)
    return row_prefix(view) + window + b"".join(map(_encode_group, _is_text(view), key.group))


def encode_keys(
    view: View, windows: Int64s | None, groups: Sequence[Sequence[Value] | Int64s], count: int = 0
) -> list[bytes]:
    """Keys of many rows: integer groups as int64 arrays with NULL_INTEGER for null, text as sequences.

    `count` matters only to a view without window and groups, whose rows have no column to count.
    """
    texts = _is_text(view)
    if groups or windows is not None:
        count = len(groups[0] if groups else windows)  # type: ignore[arg-type]
    pieces = [_fixed_pieces(np.frombuffer(row_prefix(view), np.uint8)[None, :].repeat(count, 0))]
    if windows is not None:
        pieces.append(_fixed_pieces(_big_endian(windows)))
    for text, values in zip(texts, groups, strict=True):
        pieces.append([_encode_group(True, v) for v in values] if text else _integer_pieces(np.asarray(values)))
    return list(map(b"".join, zip(*pieces, strict=True)))


def decode_key(view: View, key: bytes) -> RowKey:
    """Inverse of `encode_key`; LayoutError if the bytes do not fit the view's groups."""
    prefix = row_prefix(view)
    if not key.startswith(prefix):
        raise LayoutError(f"key {key.hex()} does not begin like a row of {view.name} version {view.version}")
    at, window = len(prefix), None
    group: list[Value] = []
    try:
        if not isinstance(view.window, AllTime):
            (window,) = struct.unpack_from(">q", key, at)
            at += 8
        for text in _is_text(view):
            value, at = _decode_group(text, key, at)
            group.append(value)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise LayoutError(f"key {key.hex()} of {view.name} ends too soon or holds no text ({error})") from error
    if at != len(key):
        raise LayoutError(f"key {key.hex()} of {view.name} is {len(key)} bytes long, its groups end at {at}")
    return RowKey(window, tuple(group))


def decode_keys(view: View, keys: Sequence[bytes]) -> tuple[Int64s | None, list[npt.NDArray[Any]]]:
    """Window starts (None for all-time views) and group columns of many keys, the inverse of `encode_keys`.

    The keys must begin with the view's prefix. LayoutError if one is of another length.
    """
    texts = _is_text(view)
    windowed = not isinstance(view.window, AllTime)
    head = len(row_prefix(view))
    width = head + 8 * windowed + 9 * len(texts)
    if any(texts) or any(len(key) != width for key in keys):
        return _decode_one_by_one(view, keys, texts)
    raw = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), width)
    windows = _numbers(raw[:, head : head + 8]) if windowed else None
    groups: list[npt.NDArray[Any]] = []
    for at in range(head + 8 * windowed, width, 9):
        numbers = _numbers(raw[:, at + 1 : at + 9])
        groups.append(np.where(raw[:, at] == NULL_TAG, np.int64(NULL_INTEGER), numbers))
    return windows, groups


def _decode_one_by_one(
    view: View, keys: Sequence[bytes], texts: Sequence[bool]
) -> tuple[Int64s | None, list[npt.NDArray[Any]]]:
    decoded = [decode_key(view, key) for key in keys]
    windows = None if isinstance(view.window, AllTime) else np.array([key.window_start_us for key in decoded], np.int64)
    return windows, [_column([key.group[i] for key in decoded], text) for i, text in enumerate(texts)]


def _column(values: Sequence[Value], text: bool) -> npt.NDArray[Any]:
    if not text:
        return np.array([NULL_INTEGER if value is None else value for value in values], np.int64)
    held = np.empty(len(values), object)
    held[:] = values
    return held


def _numbers(big_endian: npt.NDArray[np.uint8]) -> Int64s:
    return np.ascontiguousarray(big_endian).view(">i8").reshape(-1).astype(np.int64)


def _is_text(view: View) -> list[bool]:
    return [view.source.by_name[group.column].kind is Kind.TEXT for group in view.groups]


def _encode_group(text: bool, value: Value) -> bytes:
    if text:
        if value is None:
            return bytes((NULL_TAG,))
        encoded = str(value).encode()
        return struct.pack(">BH", TEXT_TAG, len(encoded)) + encoded
    return struct.pack(">Bq", NULL_TAG, 0) if value is None else struct.pack(">Bq", INTEGER_TAG, int(value))


def _decode_group(text: bool, key: bytes, at: int) -> tuple[Value, int]:
    known = TEXT_TAG if text else INTEGER_TAG
    if key[at] not in (NULL_TAG, known):
        raise LayoutError(f"key {key.hex()}: group tag {key[at]} at byte {at}, expected {NULL_TAG} or {known}")
    if not text:
        tag, number = struct.unpack_from(">Bq", key, at)
        return (None if tag == NULL_TAG else number), at + 9
    if key[at] == NULL_TAG:
        return None, at + 1
    (length,) = struct.unpack_from(">H", key, at + 1)
    return key[at + 3 : at + 3 + length].decode(), at + 3 + length


def _big_endian(numbers: Int64s) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(numbers, dtype=">i8").view(np.uint8).reshape(-1, 8)


def _integer_pieces(numbers: Int64s) -> list[bytes]:
    known = numbers != NULL_INTEGER
    tags = known.astype(np.uint8)[:, None]
    return _fixed_pieces(np.hstack([tags, _big_endian(np.where(known, numbers, 0))]))


def _fixed_pieces(rows: npt.NDArray[np.uint8]) -> list[bytes]:
    raw, width = np.ascontiguousarray(rows).tobytes(), rows.shape[1]
    return [raw[at : at + width] for at in range(0, len(raw), width)]

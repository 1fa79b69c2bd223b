"""Keys of stored rows, many at once by column (docs/formats.md). Layout 1.

Integer groups are held as int64 arrays with NULL_INTEGER for null, text groups as sequences of str and None. The worker
has the same bytes by column (`app.codecs.stored.row_key_columns`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.stored.changelog import INTEGER_TAG, LAYOUT, NULL_INTEGER, NULL_TAG, ROW, ROW_HEAD, TEXT_TAG, as_bytes
from app.domain.errors import LayoutError
from app.domain.records import Value
from app.domain.rows import RowKey
from app.domain.view import View


def row_prefix(view: View) -> bytes:
    """What every row key of this view and version begins with."""
    window = view.window.tag
    return ROW_HEAD.pack(LAYOUT, ROW, view.number, bytes.fromhex(view.version)) + bytes((window,))


def encode_keys(
    view: View, windows: Int64s | None, groups: Sequence[Sequence[Value] | Int64s], count: int = 0
) -> list[bytes]:
    """Keys of many rows: integer groups as int64 arrays with NULL_INTEGER for null, text as sequences.

    `count` matters only to a view without window and groups, whose rows have no column to count.
    """
    if groups or windows is not None:
        count = len(groups[0] if groups else windows)  # type: ignore[arg-type]
    fixed = heads_of(view, windows, count)
    pieces: list[list[bytes]] = []
    for text, values in zip(view.texts, groups, strict=True):
        if text:
            encoded = {value: _encode_text(value) for value in set(values)}
            pieces += [_cut(fixed), [encoded[value] for value in values]] if fixed else [[encoded[v] for v in values]]
            fixed = []
        else:
            fixed += integer_columns(np.asarray(values))
    if fixed:
        pieces.append(_cut(fixed))
    return pieces[0] if len(pieces) == 1 else list(map(b"".join, zip(*pieces, strict=True)))


def decode_key(view: View, key: bytes) -> RowKey:
    """One row's, of what `encode_keys` gives; LayoutError if the bytes do not fit the view's groups."""
    prefix = row_prefix(view)
    if not key.startswith(prefix):
        raise LayoutError(f"key {key.hex()} does not begin like a row of {view.name} version {view.version}")
    at, window = len(prefix), None
    group: list[Value] = []
    try:
        if view.window.ends:
            (window,) = struct.unpack_from(">q", key, at)
            at += 8
        for text in view.texts:
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
    width = len(row_prefix(view)) + 8 * view.window.ends + 9 * len(view.texts)
    if any(view.texts) or any(len(key) != width for key in keys):
        return _decode_one_by_one(view, keys, view.texts)
    return _decode_matrix(view, np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), width))


def heads_of(view: View, windows: Int64s | None, count: int) -> list[npt.NDArray[np.uint8]]:
    """What so many keys begin with, up to their groups, side by side."""
    prefix = np.frombuffer(row_prefix(view), np.uint8)
    heads = [np.broadcast_to(prefix, (count, len(prefix)))]
    return heads if windows is None else [*heads, _big_endian(windows)]


def integer_columns(numbers: Int64s) -> list[npt.NDArray[np.uint8]]:
    """An integer group in so many keys: tags and values, side by side."""
    known = numbers != NULL_INTEGER
    return [known.view(np.uint8)[:, None], _big_endian(np.where(known, numbers, 0))]


def _decode_matrix(view: View, keys: npt.NDArray[np.uint8]) -> tuple[Int64s | None, list[npt.NDArray[Any]]]:
    at = len(row_prefix(view))
    windows = None
    if view.window.ends:
        windows = _numbers(keys[:, at : at + 8])
        at += 8
    groups: list[npt.NDArray[Any]] = []
    for tag in range(at, keys.shape[1], 9):
        odd = np.flatnonzero((keys[:, tag] != NULL_TAG) & (keys[:, tag] != INTEGER_TAG))
        if len(odd):
            decode_key(view, keys[odd[0]].tobytes())  # which says it in words
        numbers = _numbers(keys[:, tag + 1 : tag + 9])
        numbers[keys[:, tag] == NULL_TAG] = NULL_INTEGER
        groups.append(numbers)
    return windows, groups


def _decode_one_by_one(
    view: View, keys: Sequence[bytes], texts: Sequence[bool]
) -> tuple[Int64s | None, list[npt.NDArray[Any]]]:
    decoded = [decode_key(view, key) for key in keys]
    windows = np.array([key.window_start_us for key in decoded], np.int64) if view.window.ends else None
    return windows, [_column([key.group[i] for key in decoded], text) for i, text in enumerate(texts)]


def _column(values: Sequence[Value], text: bool) -> npt.NDArray[Any]:
    if not text:
        return np.array([NULL_INTEGER if value is None else value for value in values], np.int64)
    held = np.empty(len(values), object)
    held[:] = values
    return held


def _numbers(big_endian: npt.NDArray[np.uint8]) -> Int64s:
    return np.ascontiguousarray(big_endian).view(">i8").reshape(-1).astype(np.int64)


def _encode_text(value: Value) -> bytes:
    if value is None:
        return bytes((NULL_TAG,))
    encoded = str(value).encode()
    return struct.pack(">BH", TEXT_TAG, len(encoded)) + encoded


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


def _cut(columns: list[npt.NDArray[np.uint8]]) -> list[bytes]:
    return as_bytes(np.hstack(columns))

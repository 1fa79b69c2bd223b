"""Keys of stored rows, written one at a time from what docs/formats.md says of them."""

from __future__ import annotations

import struct

from app.codecs.stored.changelog import INTEGER_TAG, LAYOUT, NULL_TAG, OPEN_ROW, TEXT_TAG
from app.codecs.stored.row_keys import row_prefix
from app.domain.records import Value
from app.domain.rows import RowKey
from app.domain.view import View


def encode_key(view: View, key: RowKey) -> bytes:
    """One row's key."""
    window = b"" if key.window_start_us is None else struct.pack(">q", key.window_start_us)
    groups = zip(view.texts, key.group, strict=True)
    return row_prefix(view) + window + b"".join(_text(value) if text else _number(value) for text, value in groups)


def _text(value: Value) -> bytes:
    if value is None:
        return bytes((NULL_TAG,))
    encoded = str(value).encode()
    return struct.pack(">BH", TEXT_TAG, len(encoded)) + encoded


def _number(value: Value) -> bytes:
    return struct.pack(">Bq", NULL_TAG, 0) if value is None else struct.pack(">Bq", INTEGER_TAG, int(value))


def as_open_key(row_key: bytes, task: int) -> bytes:
    """The changelog key of a row as the key by which its task tells that it is open."""
    return bytes((LAYOUT, OPEN_ROW)) + row_key[2:] + task.to_bytes(2, "big")

"""Where texts stand in the order of rows: by code point, but texts that begin alike for long by a digest.

A group may have texts of up to 64 KiB, and a cursor holds where one stands: no address or header takes more.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from app.domain.records import Value
from app.domain.rows import RowKey

EXACT_LETTERS: Final = 128
"""Texts that differ in these are in the order of their code points."""
DIGEST_BYTES: Final = 16
MOST_LETTERS: Final = EXACT_LETTERS + 2 * DIGEST_BYTES
"""Of a place."""


def text_place(text: str) -> str:
    """A text that compares as the text does; itself, if it is short. No two texts have one place."""
    if len(text) <= EXACT_LETTERS:
        return text
    return text[:EXACT_LETTERS] + blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()


def place_of(key: RowKey) -> RowKey:
    """The key with the places of its texts: what a cursor holds."""
    return RowKey(key.window_start_us, tuple(map(_value_place, key.group)))


def _value_place(value: Value) -> Value:
    return text_place(value) if isinstance(value, str) else value

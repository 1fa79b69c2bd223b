"""A record's own bytes on their way to a topic of ours: whole where they surely fit, else their beginning (rule 29).

What a source's topic holds is bounded as its producers compressed it, and ours as our tasks do: with a few headers
more, or uncompressed, the same record may be too large. One that cannot be written would stop its task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

import orjson

from app.codecs.batches.origin_headers import SHORTENED
from app.codecs.batches.record_headers import Headers

BATCH_LIMIT_BYTES = 1_048_588
"""Kafka's default of `max.message.bytes`, which bounds a batch as it is written; no topic of ours may have less."""
WHOLE_BYTES = 1_000_000
"""Records up to this size are carried whole, though they cannot be compressed."""
WAITING_BYTES = 300_000
"""The same of a record that waits in the changelog, where its headers are text and take twice their size."""
KEPT_BYTES = 65_536
"""Of a larger record, the beginning of its value that is kept, of its key, and how many bytes of its headers."""
_RECORD_BYTES, _HEADER_BYTES = 40, 10
"""More than what Kafka adds to a record, and to a header."""
_LETTER_BYTES = 4
"""Letters of a header's name are counted as UTF-8 takes them at most."""


class Carried(NamedTuple):
    """A record as it is written."""

    key: bytes | None
    value: bytes | None
    headers: Headers


class Original(NamedTuple):
    """What a shortened record was: bytes of its value and their SHA-256 (None of a null), of its key, its headers."""

    value_bytes: int | None
    value_sha256: str | None
    key_bytes: int | None
    headers: int

    def is_of(self, value: bytes | None) -> bool:
        """Whether this is the value that was shortened."""
        return self.value_sha256 == _sha256(value)


def carried(
    key: bytes | None,
    value: bytes | None,
    came_with: Headers,
    ours: Headers = (),
    *,
    whole_bytes: int = WHOLE_BYTES,
    beginning: bool = True,
) -> Carried:
    """The record with its own headers and `ours` behind them, whole or shortened; the last header then says so.

    Without `beginning` nothing is kept of the value: for topics whose readers decode it.
    """
    if size(key, value, (*came_with, *ours)) <= whole_bytes:
        return Carried(key, value, (*came_with, *ours))
    original = Original(_length(value), _sha256(value), _length(key), len(came_with))
    kept = value[:KEPT_BYTES] if beginning and value is not None else None
    says = (SHORTENED, orjson.dumps(original._asdict()))
    return Carried(key and key[:KEPT_BYTES], kept, (*_first(came_with), *ours, says))


def original_of(headers: Headers) -> Original | None:
    """What the record was if it was shortened. ValueError or TypeError if the last header says it otherwise than we do.

    A record that bears such a header itself has ours behind it.
    """
    if not headers or headers[-1][0] != SHORTENED:
        return None
    return Original(**orjson.loads(headers[-1][1]))


def size(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes]]) -> int:
    """No less than what the record takes in a batch."""
    of_headers = sum(_HEADER_BYTES + _LETTER_BYTES * len(name) + len(told) for name, told in headers)
    return _RECORD_BYTES + len(key or b"") + len(value or b"") + of_headers


def _first(headers: Headers) -> Headers:
    """As many as may be kept, from the first on."""
    kept, left = list[tuple[str, bytes]](), KEPT_BYTES
    for header in headers:
        left -= size(None, None, [header])
        if left < 0:
            break
        kept.append(header)
    return tuple(kept)


def _length(told: bytes | None) -> int | None:
    return None if told is None else len(told)


def _sha256(value: bytes | None) -> str | None:
    return None if value is None else hashlib.sha256(value).hexdigest()

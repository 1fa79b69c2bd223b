"""Headers of records, read out of their bytes when somebody asks for them: most records are used without theirs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import overload

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs

Headers = tuple[tuple[str, bytes], ...]

MOST_HEADERS = 100_000
"""A record that came with more is refused unread: they could not be carried whole (`carrying.WHOLE_BYTES`), and each is
an object here that took two bytes there."""


class RecordHeaders(Sequence[Headers]):
    """Of each record, in the record's own bytes, which must have been walked over.

    A header's null value reads as empty, and what of its name is no UTF-8 as U+FFFD.
    """

    def __init__(self, held: Blobs, counts: Int64s) -> None:
        self._held, self.counts = held if counts.any() else Blobs.nulls(len(counts)), counts

    @classmethod
    def none(cls, count: int) -> RecordHeaders:
        """Of so many records that have none."""
        return cls(Blobs.nulls(count), np.zeros(count, np.int64))

    @staticmethod
    def joined(parts: Sequence[Sequence[Headers]]) -> Sequence[Headers]:
        """Those of all parts."""
        held = [part for part in parts if isinstance(part, RecordHeaders)]
        if len(held) < len(parts):
            return [*chain.from_iterable(parts)]
        counts = np.concatenate([part.counts for part in held])
        return RecordHeaders(Blobs.joined([part._held for part in held]), counts)

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, at: int) -> Headers: ...
    @overload
    def __getitem__(self, at: slice) -> RecordHeaders: ...
    def __getitem__(self, at: int | slice) -> Headers | RecordHeaders:
        if isinstance(at, slice):
            return RecordHeaders(self._held[at], self.counts[at])
        return _read(self._held[at] or b"", int(self.counts[at]))


def header_counts(headers: Sequence[Headers]) -> Int64s:
    """How many each record has."""
    if isinstance(headers, RecordHeaders):
        return headers.counts
    return np.array([len(of_record) for of_record in headers], np.int64)


def _read(held: bytes, count: int) -> Headers:
    headers, at = [], 0
    for _ in range(count):
        name, at = _blob(held, at)
        value, at = _blob(held, at)
        headers.append((name.decode(errors="replace"), value))
    return tuple(headers)


def _blob(held: bytes, at: int) -> tuple[bytes, int]:
    """A name or value, and where it ends."""
    told, shift = held[at], 7
    while held[at] >= 0x80:
        at += 1
        told = told & (1 << shift) - 1 | held[at] << shift
        shift += 7
    at += 1
    length = 0 if told & 1 else (told & 0xFFFFFFFF) >> 1  # an odd number is below zero: null
    return held[at : at + length], at + length

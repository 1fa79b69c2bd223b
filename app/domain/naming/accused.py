"""What a row is off by, and the records that are accused of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.difference import COUNT, FINGERPRINT, ComparedRow, DifferenceKind, wrong_side
from app.domain.view import View

BITS_64 = (1 << 64) - 1


class Surplus(NamedTuple):
    """How many records a stored row has too many (below zero: too few), and the sum of their mixes, modulo 2**64."""

    records: int
    mixes: int


@dataclass(frozen=True, slots=True)
class RowRecords:
    """Packed origins of all records whose key is the row's, ascending: those applied, and those that were late."""

    applied: Sequence[int]
    late: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Accused:
    """Packed origins of records by which a row seems to be off; `doubled` has one twice that was applied thrice."""

    lost: Sequence[int] = ()
    doubled: Sequence[int] = ()
    late: Sequence[int] = ()

    def by_kind(self) -> Iterator[tuple[DifferenceKind, dict[int, int]]]:
        """Per kind of difference how often each record was applied too much."""
        if self.lost:
            yield DifferenceKind.LOST, dict.fromkeys(self.lost, -1)
        if self.doubled:
            yield DifferenceKind.DOUBLED, dict(Counter(self.doubled))
        if self.late:
            yield DifferenceKind.LATE_APPLIED, dict.fromkeys(self.late, 1)


def surplus_of(view: View, row: ComparedRow) -> Surplus:
    """Of the side that is wrong, against the recomputed row."""
    have, due = wrong_side(row) or view.neutral, row.recomputed or view.neutral
    return Surplus(have[COUNT] - due[COUNT], (have[FINGERPRINT] - due[FINGERPRINT]) & BITS_64)

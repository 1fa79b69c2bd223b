"""What a row is off by, and the records that are accused of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.difference import ComparedRow, DifferenceKind, wrong_side
from app.domain.fingerprint import BITS_64, mix_unsigned
from app.domain.naming.surplus import Surplus
from app.domain.rows import COUNT_AT, FINGERPRINT_AT
from app.domain.view import View


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

    def surplus(self) -> Surplus:
        """What a row would be off by that these records explain."""
        extra = [*self.doubled, *self.late]
        mixes = sum(mix_unsigned(extra)) - sum(mix_unsigned(self.lost))
        return Surplus(len(extra) - len(self.lost), mixes & BITS_64)

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
    return Surplus(have[COUNT_AT] - due[COUNT_AT], (have[FINGERPRINT_AT] - due[FINGERPRINT_AT]) & BITS_64)

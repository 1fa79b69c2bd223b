"""Whom a row with other records than it should have accuses: up the ladder, rung by rung, all rows together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.domain.difference import ComparedRow, Fate, RowPlace, Witness, is_processing_fault, wrong_side
from app.domain.fingerprint import unpack
from app.domain.naming.accused import Accused, RowRecords, surplus_of
from app.domain.naming.blocks import OffBlock
from app.domain.naming.evidence import Evidence
from app.domain.naming.ladder import accused_one, accused_run, accused_two
from app.domain.view import View

MOST_FOR_TWO = 2_000_000
"""Records of a row among which two are looked for: 200 MB while it lasts."""

NOTHING_FITS = "no record, no run of offsets and no two records of the row explain it"
TOO_MANY = "the row has too many records to be looked through"
TOO_MANY_FOR_TWO = f"no record and no run of offsets explains it, and two are looked for among {MOST_FOR_TWO:,} at most"
OUTLIVED = "the row is what its records make it, but should have left the table"


@dataclass(frozen=True, slots=True)
class Claim:
    """Whom a row accuses; nobody, and why. `records` are the row's, where they were asked for.

    `blocks` are those of its task that are off, where nobody was accused without them; none if the task says that it
    applied what it should have, and None if it was not asked.
    """

    accused: Accused | None
    why: str | None = None
    records: RowRecords | None = None
    is_guess: bool = False
    """Whether so much was looked at that only what folding again confirms is believed."""
    blocks: tuple[OffBlock, ...] | None = None

    @property
    def changes(self) -> dict[int, int]:
        """How often each accused record was applied too much."""
        if self.accused is None:
            return {}
        return {origin: times for _, of_kind in self.accused.by_kind() for origin, times in of_kind.items()}


def is_off(view: View, row: ComparedRow) -> bool:
    """Whether the row has other records than it should, not just other values. Of one that is gone from live table or
    changelog alone nothing more is to be said."""
    if row.recomputed is None or wrong_side(row) is None:
        return is_processing_fault(row)
    return surplus_of(view, row) != (0, 0)


def is_missing(row: ComparedRow) -> bool:
    return is_processing_fault(row) and row.changelog is None


def suspected(view: View, row: ComparedRow) -> int | None:
    """The one record by which the row seems to be off, if there could be such a record in its task."""
    origin = accused_one(surplus_of(view, row))
    if origin is None:
        return None
    at, known = unpack(origin), {topic.number for topic in view.source.topics}
    return origin if at.topic_number in known and at.partition == row.partition else None


def claims_of(view: View, rows: Sequence[ComparedRow], evidence: Evidence) -> dict[RowPlace, Claim]:
    """By row: one record first, as that needs no other; then what takes all of the row's."""
    suspects = {row.place: origin for row in rows if (origin := suspected(view, row)) is not None}
    found = evidence.witnesses(set(suspects.values())) if suspects else {}
    claims: dict[RowPlace, Claim] = {}
    for row in rows:
        witness = found.get(suspects.get(row.place, -1))
        if witness is not None and (accused := _believed(view, row, suspects[row.place], witness)) is not None:
            claims[row.place] = Claim(accused)
    rest = [row for row in rows if row.place not in claims]
    held: Mapping[RowPlace, RowRecords] = evidence.records_of(rest) if rest else {}
    return claims | {row.place: _of_many(view, row, held.get(row.place)) for row in rest}


def _believed(view: View, row: ComparedRow, origin: int, witness: Witness) -> Accused | None:
    """The one record, if it belongs to the row."""
    if witness.key != row.key or witness.record.partition != row.partition:
        return None
    if surplus_of(view, row).records < 0:
        return Accused(lost=[origin]) if witness.fate is Fate.APPLIED else None
    if witness.fate is Fate.LATE:
        return Accused(late=[origin])
    return None if row.recomputed is None else Accused(doubled=[origin])


def _of_many(view: View, row: ComparedRow, records: RowRecords | None) -> Claim:
    if records is None:
        return Claim(None, TOO_MANY)
    if is_missing(row):
        return Claim(Accused(lost=records.applied), records=records)
    if row.recomputed is None and records.applied:
        return Claim(None, OUTLIVED)
    return searched(view, row, records)


def searched(view: View, row: ComparedRow, records: RowRecords) -> Claim:
    """Whom the row accuses of these records."""
    off = surplus_of(view, row)
    if (run := accused_run(off, records)) is not None:
        return Claim(run, records=records)
    if len(records.applied) + len(records.late) > MOST_FOR_TWO:
        return Claim(None, TOO_MANY_FOR_TWO, records)
    two = accused_two(off, records)
    return Claim(two, None if two else NOTHING_FITS, records, is_guess=True)

"""From differing rows to differences with names: what is accused is looked at, named, and checked by folding again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from app.domain.difference import (
    COUNT,
    ComparedRow,
    DifferenceKind,
    Fate,
    RowDifference,
    RowPlace,
    Witness,
    is_processing_fault,
    is_store_fault,
    unequal,
    wrong_side,
)
from app.domain.fingerprint import pack
from app.domain.naming.accused import Accused, RowRecords, surplus_of
from app.domain.naming.evidence import Evidence
from app.domain.naming.ladder import accused_one, accused_run, accused_two
from app.domain.naming.runs import runs_of
from app.domain.rows import Cells
from app.domain.view import View

LISTED, LISTED_IN_ALL = 100, 50_000
"""Records of a difference, and of all, that are told with what they contribute; others are told as runs of offsets."""
MOST_FOR_TWO = 2_000_000
"""Records of a row among which two are looked for: 200 MB while it lasts."""

NOTHING_FITS = "no record, no run of offsets and no two records of the row explain it"
TOO_MANY = "the row has too many records to be looked through"
TOO_MANY_FOR_TWO = f"no record and no run of offsets explains it, and two are looked for among {MOST_FOR_TWO:,} at most"
OUTLIVED = "the row is what its records make it, but should have left the table"
NOT_CONFIRMED = "two records have its count and fingerprint, and folded again other values"


@dataclass(frozen=True, slots=True)
class Claim:
    """Whom a row accuses; nobody, and why. `records` are the row's, where they were asked for."""

    accused: Accused | None
    why: str | None = None
    records: RowRecords | None = None
    is_guess: bool = False
    """Whether so many were looked at that only what folding again confirms is believed."""


def name_rows(view: View, rows: Sequence[ComparedRow], evidence: Evidence) -> list[RowDifference]:
    """All that is wrong with these rows: faults of the store, of processing, or both."""
    claims = _claims(view, [row for row in rows if _is_off(view, row)], evidence)
    changes = {
        place: {origin: times for _, of_kind in claim.accused.by_kind() for origin, times in of_kind.items()}
        for place, claim in claims.items()
        if claim.accused
    }
    missing = {row.place for row in rows if _is_missing(row)}
    refolded = evidence.refolded({place: told for place, told in changes.items() if place not in missing})
    same = [row for row in rows if is_processing_fault(row) and not _is_off(view, row)]
    translated = evidence.translated(same) if same else {}
    found = [
        one
        for row in rows
        for one in _differences(view, row, claims.get(row.place), refolded.get(row.place), translated.get(row.place))
    ]
    return _with_records(evidence, found)


def _claims(view: View, rows: Sequence[ComparedRow], evidence: Evidence) -> dict[RowPlace, Claim]:
    """By row that has other records than it should, whom it accuses: one record first, then what takes all of them."""
    suspects = {row.place: pack(origin) for row in rows if (origin := accused_one(view, row)) is not None}
    found = evidence.witnesses(set(suspects.values())) if suspects else {}
    claims = {}
    for row in rows:
        witness = found.get(suspects.get(row.place, -1))
        if witness is not None and (accused := _believed(view, row, suspects[row.place], witness)) is not None:
            claims[row.place] = Claim(accused)
    rest = [row for row in rows if row.place not in claims]
    held = evidence.records_of(rest) if rest else {}
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
    if _is_missing(row):
        return Claim(Accused(lost=records.applied), records=records)
    if row.recomputed is None and records.applied:
        return Claim(None, OUTLIVED)
    if (run := accused_run(view, row, records)) is not None:
        return Claim(run, records=records)
    if len(records.applied) + len(records.late) > MOST_FOR_TWO:
        return Claim(None, TOO_MANY_FOR_TWO)
    two = accused_two(view, row, records)
    return Claim(None, NOTHING_FITS) if two is None else Claim(two, None, records, is_guess=True)


def _differences(
    view: View, row: ComparedRow, claim: Claim | None, refolded: Cells | None, translated: Cells | None
) -> Iterator[RowDifference]:
    """`translated`: by the worker, where the same records were applied."""
    if is_store_fault(row):
        one = RowDifference(DifferenceKind.STORE, row, unequal(view, row.live, row.changelog))
        is_sure = not is_processing_fault(row) and claim is not None and refolded == wrong_side(row)
        changes = _all_changes(claim) if is_sure else {}
        yield _with_changes(view, one, changes, claim)
    if not is_processing_fault(row):
        return
    cells = unequal(view, row.changelog, row.recomputed)
    if claim is None:
        kind = DifferenceKind.LOGIC if translated == row.changelog else DifferenceKind.ALTERED
        yield RowDifference(kind, row, cells)
    elif _is_missing(row):
        one = RowDifference(DifferenceKind.LOST, row, cells)
        lacking = _with_changes(view, one, _all_changes(claim), claim)
        yield replace(lacking, record_count=(row.recomputed or view.neutral)[COUNT])
    else:
        yield from _of_records(view, RowDifference(DifferenceKind.UNNAMED, row, cells), claim, refolded)


def _of_records(view: View, one: RowDifference, claim: Claim, refolded: Cells | None) -> Iterator[RowDifference]:
    left = unequal(view, one.row.changelog, refolded)
    if claim.accused is None:
        yield replace(one, unexplained=one.cells, why=claim.why)
    elif claim.is_guess and left:
        yield replace(one, unexplained=one.cells, why=NOT_CONFIRMED)
    else:
        for kind, changes in claim.accused.by_kind():
            yield _with_changes(view, replace(one, kind=kind, unexplained=left), changes, claim)


def _all_changes(claim: Claim | None) -> dict[int, int]:
    if claim is None or claim.accused is None:
        return {}
    return {origin: times for _, changes in claim.accused.by_kind() for origin, times in changes.items()}


def _with_changes(view: View, one: RowDifference, changes: Mapping[int, int], claim: Claim | None) -> RowDifference:
    records = claim.records if claim is not None else None
    among: Sequence[int] = () if records is None or one.kind is DifferenceKind.LATE_APPLIED else records.applied
    return replace(one, changes=changes, runs=runs_of(view.source, sorted(changes), among), record_count=len(changes))


def _with_records(evidence: Evidence, found: Sequence[RowDifference]) -> list[RowDifference]:
    """With the first records of each."""
    listed, left = [], LISTED_IN_ALL
    for one in found:
        listed.append(list(islice(one.changes, min(LISTED, left))))
        left -= len(listed[-1])
    held = evidence.witnesses({origin for some in listed for origin in some}) if any(listed) else {}
    return [
        replace(one, records=tuple(held[origin] for origin in some if origin in held))
        for one, some in zip(found, listed, strict=True)
    ]


def _is_off(view: View, row: ComparedRow) -> bool:
    """Whether the row has other records than it should, not just other values. Of one that is gone from live table or
    changelog alone nothing more is to be said."""
    if row.recomputed is None or wrong_side(row) is None:
        return is_processing_fault(row)
    return surplus_of(view, row) != (0, 0)


def _is_missing(row: ComparedRow) -> bool:
    return is_processing_fault(row) and row.changelog is None

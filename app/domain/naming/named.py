"""From differing rows to differences with names: what is accused is looked at, named, and checked by folding again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from app.domain.difference import ComparedRow, DifferenceKind, is_processing_fault, is_store_fault, unequal, wrong_side
from app.domain.naming.claims import Claim, claims_of, is_missing, is_off
from app.domain.naming.evidence import Evidence
from app.domain.naming.narrowed import narrowed
from app.domain.naming.row_difference import RowDifference
from app.domain.naming.runs import runs_of
from app.domain.rows import COUNT_AT, Cells
from app.domain.view import View

LISTED, LISTED_IN_ALL = 100, 20_000
"""Records of a difference, and of all, that are told with what they contribute; others are told as runs of offsets."""

NOT_CONFIRMED = "records were found that have its count and fingerprint, and folded again they give other values"


def name_rows(view: View, rows: Sequence[ComparedRow], evidence: Evidence) -> list[RowDifference]:
    """All that is wrong with these rows: faults of the store, of processing, or both."""
    off = [row for row in rows if is_off(view, row)]
    claims = narrowed(view, off, claims_of(view, off, evidence), evidence)
    missing = {row.place for row in rows if is_missing(row)}
    changes = {place: claim.changes for place, claim in claims.items() if place not in missing and claim.accused}
    refolded = evidence.refolded(changes) if changes else {}
    same = [row for row in rows if is_processing_fault(row) and row.place not in claims]
    translated = evidence.translated(same) if same else {}
    found = [
        one
        for row in rows
        for one in _differences(view, row, claims.get(row.place), refolded.get(row.place), translated.get(row.place))
    ]
    return _with_records(evidence, found)


def _differences(
    view: View, row: ComparedRow, claim: Claim | None, refolded: Cells | None, translated: Cells | None
) -> Iterator[RowDifference]:
    """`translated`: by the worker, where the same records were applied."""
    if is_store_fault(row):
        one = RowDifference(DifferenceKind.STORE, row, unequal(view, row.live, row.changelog))
        is_sure = not is_processing_fault(row) and claim is not None and refolded == wrong_side(row)
        yield _with_changes(view, one, claim.changes if claim is not None and is_sure else {}, claim)
    if not is_processing_fault(row):
        return
    cells = unequal(view, row.changelog, row.recomputed)
    if claim is None:
        kind = DifferenceKind.LOGIC if translated == row.changelog else DifferenceKind.ALTERED
        yield RowDifference(kind, row, cells)
    elif is_missing(row):
        one = RowDifference(DifferenceKind.LOST, row, cells)
        lacking = _with_changes(view, one, claim.changes, claim)
        yield replace(lacking, record_count=(row.recomputed or view.neutral)[COUNT_AT])
    else:
        yield from _of_records(view, RowDifference(DifferenceKind.UNNAMED, row, cells), claim, refolded)


def _of_records(view: View, one: RowDifference, claim: Claim, refolded: Cells | None) -> Iterator[RowDifference]:
    left = unequal(view, one.row.changelog, refolded)
    one = replace(one, blocks=claim.blocks or ())
    if claim.accused is None:
        kind = DifferenceKind.STORE if claim.blocks == () else one.kind
        yield replace(one, kind=kind, unexplained=one.cells, why=claim.why)
    elif claim.is_guess and left:
        yield replace(one, unexplained=one.cells, why=NOT_CONFIRMED)
    else:
        for kind, changes in claim.accused.by_kind():
            yield _with_changes(view, replace(one, kind=kind, unexplained=left), changes, claim)


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

"""What a task's blocks say of rows that the ladder did not name (rule 12).

A block that is off holds some of the records that were lost or doubled: a row with too many records is looked through
there alone, and where each block that is off can be named by itself, rows are off by their share of it. Blocks that
are all right say that the task applied the right records once: then the store did not keep the row.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.domain.difference import ComparedRow, RowPlace, is_processing_fault
from app.domain.naming.accused import Accused, RowRecords, surplus_of
from app.domain.naming.blocks import OffBlock, bounds_of
from app.domain.naming.claims import TOO_MANY, Claim, is_missing, searched
from app.domain.naming.evidence import Evidence
from app.domain.naming.ladder import accused_one, accused_run, accused_two
from app.domain.naming.surplus import Surplus
from app.domain.view import View

BLOCKS_AGREE = "its task says that it applied the right records, and the row does not hold them"


def narrowed(
    view: View, rows: Sequence[ComparedRow], claims: Mapping[RowPlace, Claim], evidence: Evidence
) -> dict[RowPlace, Claim]:
    """The claims, with those that accused nobody made anew by the blocks of their tasks, where these are known."""
    wrong = [row for row in rows if is_processing_fault(row) and not is_missing(row)]
    unnamed = [row for row in wrong if claims[row.place].accused is None]
    known = evidence.off_blocks() if unnamed else {}
    asked = [row for row in unnamed if known.get(row.partition)]
    of_tasks = {task: known[task] for task in sorted({row.partition for row in asked})}
    within = [bounds for blocks in of_tasks.values() for bounds in bounds_of(blocks)]
    held: Mapping[RowPlace, RowRecords] = evidence.records_of(asked, within) if asked else {}
    applied = evidence.applied_between(within) if asked else ()
    accused = {task: _of_blocks(blocks, applied) for task, blocks in of_tasks.items()}
    found = dict(claims)
    for row in unnamed:
        if row.partition in known:
            claim = replace(claims[row.place], blocks=known[row.partition])
            found[row.place] = _claim(view, row, claim, held.get(row.place), accused.get(row.partition))
    return found


def _claim(view: View, row: ComparedRow, claim: Claim, records: RowRecords | None, accused: Accused | None) -> Claim:
    if not claim.blocks:
        return replace(claim, why=BLOCKS_AGREE)
    if records is None or row.recomputed is None:
        return claim
    share = None if accused is None else _share(accused, records)
    if share is not None and share.surplus() == surplus_of(view, row):
        return replace(claim, accused=share, why=None, records=claim.records or records, is_guess=True)
    again = searched(view, row, records) if claim.why == TOO_MANY else claim
    return claim if again.accused is None else replace(again, blocks=claim.blocks)


def _of_blocks(blocks: Sequence[OffBlock], applied: Sequence[int]) -> Accused | None:
    """The records that blocks are off by, each named alone; None if one cannot be."""
    found = []
    for one in blocks:
        first, last = one.place.bounds
        records = RowRecords(applied[bisect_left(applied, first) : bisect_right(applied, last)])
        accused = _of_block(one.surplus, records)
        if accused is None:
            return None
        found.append(accused)
    return Accused(
        [origin for one in found for origin in one.lost], [origin for one in found for origin in one.doubled]
    )


def _of_block(off: Surplus, records: RowRecords) -> Accused | None:
    origin = accused_one(off)
    if origin is not None:
        is_known = origin in set(records.applied)
        return (Accused(lost=[origin]) if off.records < 0 else Accused(doubled=[origin])) if is_known else None
    return accused_run(off, records) or accused_two(off, records)


def _share(accused: Accused, records: RowRecords) -> Accused:
    """Those that are of the row."""
    own = set(records.applied)
    return Accused([one for one in accused.lost if one in own], [one for one in accused.doubled if one in own])

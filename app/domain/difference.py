"""Where stored rows and recomputed rows differ, and because of which records (rule 25).

A row is seen from three sides: live (the worker's table), changelog (its log at the same marker), recomputed
(from the source records). Live and changelog apart is a fault of the store; both apart from the recomputation is a
fault of processing. A count off by one *accuses* one record: the fingerprints' difference, un-mixed. It is believed
only if that record exists, belongs to the row, and explains every cell.

    LOST          a record of the row was not applied
    DOUBLED       a record of the row was applied twice
    LATE_APPLIED  a record was applied although its window had closed
    ALTERED       the same records were applied, and other values stand there
    STORE         live table and changelog differ
    UNNAMED       none of these: counts as unexplained residual
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.domain.fingerprint import Origin, signed, unmix, unpack
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View

COUNT, FINGERPRINT = 0, 1
"""Where every row holds its count and fingerprint."""


class Fate(StrEnum):
    """What the rules make of a decoded record in a view."""

    APPLIED = "applied"
    LATE = "late"
    OUT_OF_SCOPE = "out_of_scope"


class DifferenceKind(StrEnum):
    LOST = "LOST"
    DOUBLED = "DOUBLED"
    LATE_APPLIED = "LATE_APPLIED"
    ALTERED = "ALTERED"
    STORE = "STORE"
    UNNAMED = "UNNAMED"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row of a task from its three sides; None where a side has no such row."""

    partition: int
    key: RowKey
    live: Cells | None
    changelog: Cells | None
    recomputed: Cells | None


@dataclass(frozen=True, slots=True)
class Witness:
    """A record, found where it was looked for: the row it belongs to by the rules, and its fate."""

    record: Record
    key: RowKey | None
    fate: Fate


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One difference of one row, with the records that cause it.

    `record_count` may exceed the records listed. `unexplained` names the cells that still differ once the listed
    records are put right; with UNNAMED it names all that differ.
    """

    kind: DifferenceKind
    row: ComparedRow
    cells: tuple[str, ...]
    records: tuple[Witness, ...] = ()
    record_count: int = 0
    unexplained: tuple[str, ...] = ()

    @property
    def is_residual(self) -> bool:
        return bool(self.unexplained)


def is_store_fault(row: ComparedRow) -> bool:
    return row.live != row.changelog


def is_processing_fault(row: ComparedRow) -> bool:
    """Whether what was stored is wrong on both stored sides; if one is right, only the store is at fault."""
    return row.recomputed not in (row.live, row.changelog)


def accused(view: View, row: ComparedRow) -> Origin | None:
    """The one record by which the changelog's row (for a mere store fault: the live row) seems to be off.

    None where counts do not differ by exactly one. Any 64-bit difference un-mixes to *some* origin: ask
    for the record before believing it.
    """
    stored, right = _sides(row)
    have, due = stored or view.neutral, right or view.neutral
    surplus = have[COUNT] - due[COUNT]
    if abs(surplus) != 1:
        return None
    origin = unpack(unmix(signed(surplus * (have[FINGERPRINT] - due[FINGERPRINT]))))
    known = {topic.number for topic in view.source.topics}
    return origin if origin.topic_number in known and origin.partition == row.partition else None


def differences(
    view: View, row: ComparedRow, witnesses: Mapping[Origin, Witness], of_missing_row: Sequence[Witness] = ()
) -> list[RowDifference]:
    """What is wrong with the row: a fault of the store, of processing, or both.

    `witnesses`: records found at the accused origins. `of_missing_row`: records of a row that is stored
    nowhere, perhaps not all. Processing faults are claims until `settled`.
    """
    found = []
    if is_store_fault(row):
        named = () if is_processing_fault(row) else _believed(view, row, witnesses)
        found.append(
            RowDifference(DifferenceKind.STORE, row, unequal(view, row.live, row.changelog), named, len(named))
        )
    if is_processing_fault(row):
        found.append(_processing_fault(view, row, witnesses, of_missing_row))
    return found


def corrections(difference: RowDifference) -> list[tuple[Witness, int]]:
    """Per listed record how often to count it more or less than once, so that the recomputation repeats the fault."""
    sign = {DifferenceKind.LOST: -1, DifferenceKind.DOUBLED: 1, DifferenceKind.LATE_APPLIED: 1}.get(difference.kind, 0)
    return [(witness, sign) for witness in difference.records] if sign else []


def settled(view: View, difference: RowDifference, refolded: Cells | None) -> RowDifference:
    """The difference, checked: `refolded` is the row with the fault repeated, which must equal the stored row."""
    left = unequal(view, difference.row.changelog, refolded)
    return replace(difference, unexplained=left)


def unequal(view: View, left: Cells | None, right: Cells | None) -> tuple[str, ...]:
    """Names of the cells that differ; a row that is not there counts as the neutral one, `row` if all agree then."""
    if left == right:
        return ()
    pairs = zip(view.cells, left or view.neutral, right or view.neutral, strict=True)
    return tuple(name for name, one, other in pairs if one != other) or ("row",)


def _sides(row: ComparedRow) -> tuple[Cells | None, Cells | None]:
    """What is wrong, and what it should be."""
    if is_processing_fault(row):
        return row.changelog, row.recomputed
    return (row.live, row.recomputed) if row.live != row.recomputed else (row.changelog, row.recomputed)


def _processing_fault(
    view: View, row: ComparedRow, witnesses: Mapping[Origin, Witness], of_missing_row: Sequence[Witness]
) -> RowDifference:
    cells = unequal(view, row.changelog, row.recomputed)
    if row.changelog is None and row.recomputed is not None:
        return RowDifference(DifferenceKind.LOST, row, cells, tuple(of_missing_row), row.recomputed[COUNT])
    if row.changelog and row.recomputed and row.changelog[: FINGERPRINT + 1] == row.recomputed[: FINGERPRINT + 1]:
        return RowDifference(DifferenceKind.ALTERED, row, cells)
    named = _believed(view, row, witnesses)
    if not named:
        return RowDifference(DifferenceKind.UNNAMED, row, cells, unexplained=cells)
    return RowDifference(_kind(view, row, named[0]), row, cells, named, len(named))


def _believed(view: View, row: ComparedRow, witnesses: Mapping[Origin, Witness]) -> tuple[Witness, ...]:
    origin = accused(view, row)
    witness = None if origin is None else witnesses.get(origin)
    if witness is None or witness.key != row.key or witness.record.partition != row.partition:
        return ()
    lost = _surplus(view, row) < 0
    return (witness,) if witness.fate is Fate.APPLIED or (witness.fate is Fate.LATE and not lost) else ()


def _kind(view: View, row: ComparedRow, witness: Witness) -> DifferenceKind:
    if witness.fate is Fate.LATE:
        return DifferenceKind.LATE_APPLIED
    return DifferenceKind.LOST if _surplus(view, row) < 0 else DifferenceKind.DOUBLED


def _surplus(view: View, row: ComparedRow) -> int:
    stored, right = _sides(row)
    return (stored or view.neutral)[COUNT] - (right or view.neutral)[COUNT]

"""Where stored rows and recomputed rows differ, and what such a difference is called (rule 25).

A row is seen from three sides: live (the worker's table), changelog (its log at the same marker), recomputed
(from the source records). Live and changelog apart is a fault of the store; both apart from the recomputation is a
fault of processing. `app.domain.naming` finds the records behind it.

    LOST          records of the row were not applied
    DOUBLED       records of the row were applied twice
    LATE_APPLIED  records were applied although their window had closed
    LOGIC         the same records were applied, and the worker's own translator makes of them what stands there
    ALTERED       the same records were applied, and other values stand there
    STORE         live table and changelog differ, or the task applied the right records and the row does not hold them
    UNNAMED       none of these: counts as unexplained residual
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View


class Fate(StrEnum):
    """What the rules make of a decoded record in a view. Joins and alerts know duplicates beside these, which
    `app.domain.marker.Fates` counts with the others; of no view is anything a duplicate."""

    APPLIED = "applied"
    LATE = "late"
    OUT_OF_SCOPE = "out_of_scope"


class DifferenceKind(StrEnum):
    LOST = "LOST"
    DOUBLED = "DOUBLED"
    LATE_APPLIED = "LATE_APPLIED"
    LOGIC = "LOGIC"
    ALTERED = "ALTERED"
    STORE = "STORE"
    UNNAMED = "UNNAMED"


RowPlace = tuple[int, RowKey]
"""A row's task and key."""


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row of a task from its three sides; None where a side has no such row."""

    partition: int
    key: RowKey
    live: Cells | None
    changelog: Cells | None
    recomputed: Cells | None

    @property
    def place(self) -> RowPlace:
        return self.partition, self.key


@dataclass(frozen=True, slots=True)
class Witness:
    """A record, found where it was looked for: the row it belongs to by the rules, and its fate."""

    record: Record
    key: RowKey | None
    fate: Fate


def is_store_fault(row: ComparedRow) -> bool:
    return row.live != row.changelog


def is_processing_fault(row: ComparedRow) -> bool:
    """Whether what was stored is wrong on both stored sides; if one is right, only the store is at fault."""
    return row.recomputed not in (row.live, row.changelog)


def wrong_side(row: ComparedRow) -> Cells | None:
    """What is stored and should be otherwise: the changelog's row; for a mere store fault the side that is wrong."""
    if is_processing_fault(row):
        return row.changelog
    return row.live if row.live != row.recomputed else row.changelog


def unequal(view: View, left: Cells | None, right: Cells | None) -> tuple[str, ...]:
    """Names of the cells that differ; a row that is not there counts as the neutral one, `row` if all agree then."""
    if left == right:
        return ()
    pairs = zip(view.cells, left or view.neutral, right or view.neutral, strict=True)
    return tuple(name for name, one, other in pairs if one != other) or ("row",)

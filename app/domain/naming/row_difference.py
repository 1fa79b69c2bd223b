"""What naming gives of a row that differs: the kind of the difference, and the records behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.domain.difference import ComparedRow, DifferenceKind, Witness
from app.domain.naming.blocks import OffBlock
from app.domain.naming.runs import OffsetRun


@dataclass(frozen=True, slots=True)
class RowDifference:
    """One difference of one row, with the records that cause it.

    `changes`: by packed origin, how often each of them was applied too much (lost: -1). `runs` tell them compactly,
    `records` lists the first of them, and `record_count` may exceed them all where they are too many to be fetched.
    `unexplained` names the cells that still differ once the row is folded again with these changes; where no record is
    accused it names all that differ, `why` says what was tried, and `blocks` which of its task's are off, if these were
    asked.
    """

    kind: DifferenceKind
    row: ComparedRow
    cells: tuple[str, ...]
    changes: Mapping[int, int] = field(default_factory=dict)
    runs: tuple[OffsetRun, ...] = ()
    records: tuple[Witness, ...] = ()
    record_count: int = 0
    unexplained: tuple[str, ...] = ()
    why: str | None = None
    blocks: tuple[OffBlock, ...] = ()

    @property
    def is_residual(self) -> bool:
        return bool(self.unexplained)

"""What naming asks of whoever holds the records: Spark, or a test that holds them as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from app.domain.difference import ComparedRow, RowPlace, Witness
from app.domain.naming.accused import RowRecords
from app.domain.naming.blocks import OffBlock
from app.domain.records import Record
from app.domain.rows import Cells
from app.domain.view import View

Translator = Callable[[View, Sequence[Record]], Cells]
"""The row that a translator of a view makes of records that all belong to it."""


class Evidence(Protocol):
    """Of one view at its cut. Origins are packed."""

    def witnesses(self, origins: Collection[int]) -> Mapping[int, Witness]:
        """The usable records that stand at these origins, below the cut."""

    def records_of(
        self, rows: Sequence[ComparedRow], within: Sequence[tuple[int, int]] | None = None
    ) -> Mapping[RowPlace, RowRecords]:
        """The records of each row, without those rows that have too many; `within`: of those from one origin to
        another alone."""

    def off_blocks(self) -> Mapping[int, tuple[OffBlock, ...]]:
        """By task which of its blocks are off, of those tasks that keep any."""

    def refolded(self, changes: Mapping[RowPlace, Mapping[int, int]]) -> Mapping[RowPlace, Cells]:
        """Rows folded again, with records counted more or less often than once; one without records is left out."""

    def translated(self, rows: Sequence[ComparedRow]) -> Mapping[RowPlace, Cells]:
        """What the worker's own translator makes of the rows' records, of those rows for which that can be asked."""

    def applied_between(self, bounds: Sequence[tuple[int, int]]) -> Sequence[int]:
        """The records that the view applied from one origin to another of a topic-partition, ascending; none where
        they are too many."""

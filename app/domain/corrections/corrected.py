"""Rows with corrections folded in: state = fold(source records, corrections), in the corrections' order (rule 23)."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import NamedTuple

from app.domain.corrections.correction import Correction
from app.domain.rows import Cells, RowKey


class Applied(NamedTuple):
    """A correction that a task says it applied, and where it stands in the corrections topic."""

    partition: int
    offset: int
    correction: Correction


RowsOfTasks = MutableMapping[tuple[int, RowKey], Cells]
"""Rows of one view by task and key."""


def fold_corrections(rows: RowsOfTasks, applied: Iterable[Applied]) -> list[Applied]:
    """Set the rows that corrections of one view changed; gives those that expected another row, and change nothing.

    One that only sets the row that the records make anyway fits whatever it expected: it repaired what stood there.
    """
    unfitting = []
    for one in sorted(applied, key=lambda a: (a.partition, a.offset)):
        at, correction = (one.partition, one.correction.key), one.correction
        if rows.get(at) != correction.expected:
            if correction.adds or rows.get(at) != correction.row:
                unfitting.append(one)
        elif correction.row is None:
            rows.pop(at, None)
        else:
            rows[at] = correction.row
    return unfitting

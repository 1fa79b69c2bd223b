"""Rows with corrections folded in: state = fold(source records, corrections), in the corrections' order (rule 23)."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import NamedTuple

from app.domain.corrections.correction import Correction
from app.domain.corrections.revision import add_too
from app.domain.records import Place
from app.domain.rows import Cells, RowKey
from app.domain.view import View


class Applied(NamedTuple):
    """A correction that a task says it applied, and where it stands in the corrections topic."""

    partition: int
    offset: int
    correction: Correction


RowsOfTasks = MutableMapping[tuple[int, RowKey], Cells]
"""Rows of one view by task and key."""


def fold_corrections(view: View, rows: RowsOfTasks, applied: Iterable[Applied]) -> list[Applied]:
    """Set the rows that corrections of one view changed; gives those that do not fit, and change nothing.

    A row that was wrong when a task took a correction is not what was expected here. One that added records adds them
    to the row that there is, as far as it tells what they gave and none of them was added before; one that only sets
    the row that there is anyway fits whatever it expected: it repaired what stood there.
    """
    unfitting, added = list[Applied](), set[Place]()
    for one in sorted(applied, key=lambda a: (a.partition, a.offset)):
        at, correction = (one.partition, one.correction.key), one.correction
        there, made = rows.get(at), correction.row
        if correction.adds and made is not None:
            made = add_too(view, there, correction.expected, made)
            fits = made is not None and added.isdisjoint(correction.adds)
        else:
            fits = there in (correction.expected, made)
        if not fits:
            unfitting.append(one)
        elif made is None:
            rows.pop(at, None)
        else:
            rows[at] = made
            added.update(correction.adds)
    return unfitting

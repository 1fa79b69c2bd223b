"""What a correction makes of rows other than the one it was meant for: finals, and rows that were wrong (rule 23)."""

from __future__ import annotations

from collections.abc import Callable

from app.domain.measures.parts import MERGERS, Merger, ReplaceCells
from app.domain.rows import Cells
from app.domain.view import View

REVISION = "final_revision"
"""The cell behind those of the view, in the row of a final that was published."""
NOT_REVISABLE = "not_revisable"
"""Why a revision is quarantined: the final is forgotten, or what the row took back may stand in another task's too."""


def revise(view: View, merged: Cells, old: Cells | None, new: Cells | None) -> Cells | None:
    """The merged row with one task's row replaced; None where that cannot be told from these three.

    What adds up always can be. A least or greatest value that the task's row gives up may be another task's as well:
    that is told only where the merged row is this task's alone. Each kind of merging says it (`Merger.replace`).
    """
    if old is not None and merged == old:
        return view.neutral if new is None else new
    before, after = old or view.neutral, new or view.neutral
    return _by_part(view, lambda one: one.replaced, merged, before, after)


def add_too(view: View, base: Cells | None, old: Cells | None, new: Cells) -> Cells | None:
    """`base` with the records that made `new` of `old`; None where these three do not tell.

    Of what adds up they always do. Of a least or greatest value that the records did not change, only that theirs is
    no better than that of `old`.
    """
    if base == old:
        return new
    return _by_part(view, lambda one: one.add, base or view.neutral, old or view.neutral, new)


def _by_part(view: View, how: Callable[[Merger], ReplaceCells], merged: Cells, old: Cells, new: Cells) -> Cells | None:
    made, at = list[int](), 0
    for part in view.parts:
        cells = slice(at, at + part.op.width)
        found = how(MERGERS[part.op])(merged[cells], old[cells], new[cells])
        if found is None:
            return None
        made += found
        at = cells.stop
    return tuple(made)

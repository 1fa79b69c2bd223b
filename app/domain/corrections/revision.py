"""Revisions: a final row again, after one of the rows that it was merged from was corrected (rule 23)."""

from __future__ import annotations

from app.domain.measures.parts import MERGERS
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
    revised, at = list[int](), 0
    for part in view.parts:
        cells = slice(at, at + part.op.width)
        found = MERGERS[part.op].replaced(merged[cells], before[cells], after[cells])
        if found is None:
            return None
        revised += found
        at = cells.stop
    return tuple(revised)

"""Which window each record of a batch is stored under, and what becomes of it (rule 7)."""

from __future__ import annotations

from app.domain.view import View
from app.engine.core.cells.grouping import OUT_OF_SCOPE
from app.engine.core.kinds.contract import Placed
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.records.usable import Usable


def placed(view: View, usable: Usable) -> Placed:
    """Where the records belong, each by its own watermark; what the view leaves out belongs nowhere."""
    placed = kernel_of(view).place(usable)
    for rule in view.leaves_out:
        placed.fates[usable.column(rule).values[0] != 0] = OUT_OF_SCOPE
    return placed

"""A reading: rows of a task that are to be copied for an answer, and what is then made of the copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from app.codecs.arrays import Int64s
from app.engine.core.rows.state import Rows


class Reading(NamedTuple):
    """`slots`, rising, are good until the next await; a row of one is folded `times`.

    `fold` gives the task's page, or None: it takes more rows. It touches nothing but the copy, so a thread may call it.
    `leave` is what must be done of it, where the rows of all tasks are folded together.
    """

    slots: Int64s
    fold: Callable[[Rows], Rows | None]
    times: int = 1
    leave: Callable[[Rows], Rows] | None = None

    @property
    def unfolded(self) -> Reading:
        """The same for an answer that folds few rows of all tasks at once, which is quicker."""
        return self if self.leave is None else self._replace(fold=self.leave)

    @property
    def folded_rows(self) -> int:
        """What the answer costs: so many rows are copied and sorted."""
        return self.times * len(self.slots)

"""Usable records into the rows of views: what a batch changes, counts and finds late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from app.domain.marker import AlertPosition, Fates, JoinPosition, ViewPosition
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.cells.grouping import LATE
from app.engine.core.draft import Draft
from app.engine.core.epochs import seen_by
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.records.usable import Usable
from app.engine.core.task_state import BlocksCounted
from app.engine.core.views import aggregate as agg
from app.engine.core.views.blocks import changed_blocks

Judging = TypeVar("Judging", ViewPosition, JoinPosition, AlertPosition)
LateFor = dict[int, list[str]]
"""Index in the batch to the names of the views and joins that a record was late for."""


class UsableBatch(NamedTuple):
    """A batch, and what of it is usable."""

    batch: Batch
    usable: Usable


def fold_views(draft: Draft, views: Sequence[View], parts: Sequence[UsableBatch]) -> list[LateFor]:
    """Put batches of one source into these views, all at once; gives for each batch what was late in it."""
    late_for: list[LateFor] = [{} for _ in parts]
    if not views:
        return late_for
    totals: dict[bytes, tuple[int, int]] = {}
    together = Usable.together([part.usable for part in parts])
    topics = [(part.batch.topic, len(part.usable)) for part in parts]
    ends = np.cumsum([count for _, count in topics])
    for view in views:
        given = agg.aggregate(view, seen_by(view, draft.marker.views[view.name].graces, topics, together))
        kernel_of(view).change(draft, given.rows)
        for (batch, usable), fates, late in zip(parts, np.split(given.fates, ends[:-1]), late_for, strict=True):
            for key, value, total in changed_blocks(view, draft.state.blocks, batch, usable, fates):
                totals[key] = total
                draft.keep(key, value)
            draft.move_view(view.name, with_fates(draft.marker.views[view.name], batch.topic, fates))
            note_late(late, view.name, usable, fates)
    draft.effects.append(BlocksCounted(totals))
    return late_for


def with_fates(position: Judging, topic: str, fates: npt.NDArray[np.int8]) -> Judging:
    """The position with these fates of a topic's records added."""
    counted = Fates(*np.bincount(fates, minlength=4).tolist())
    return replace(position, fates=position.fates | {topic: position.fates.get(topic, Fates()).plus(counted)})


def note_late(late_for: LateFor, name: str, usable: Usable, fates: npt.NDArray[np.int8]) -> None:
    """Note which records of the batch `name` was too late for."""
    for at in usable.index[fates == LATE].tolist():
        late_for.setdefault(at, []).append(name)

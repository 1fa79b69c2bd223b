"""What comes by the closing topic: rows that tasks have closed, their marks, and rows that were corrected since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.blobs import NULL, Blobs
from app.codecs.stored.changelog import CLOSED_ROW
from app.codecs.stored.closings import (
    Mark,
    as_final_key,
    closed_row_prefix,
    decode_mark,
    decode_replaced,
    encode_mark,
    mark_head,
    mark_key,
    open_head,
    task_of,
)
from app.codecs.stored.row_key_columns import decode_key_columns
from app.codecs.stored.row_keys import row_prefix
from app.domain.corrections.revision import NOT_REVISABLE
from app.domain.errors import LayoutError
from app.domain.marker import LIVE, ViewPosition
from app.domain.rows import COUNT_AT
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.cells.mergers import merge, merge_groups
from app.engine.core.draft import Draft
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.possible import is_possible
from app.engine.core.records.refusals import quarantine
from app.engine.core.results.merging import ClosingsChanged, finals_of
from app.engine.core.results.open_rows import take_open
from app.engine.core.results.revising import Change, replaced_in, revise_finals
from app.engine.core.rows.state import Rows, ViewChange
from app.engine.core.rows.stored_rows import cells_of, last_of_each
from app.engine.core.rows.texts import numbered
from app.engine.core.task_state import TaskState

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class MarksMoved:
    """How far tasks have closed a view."""

    view: str
    marks: dict[int, Mark]

    def swap_in(self, state: TaskState) -> None:
        state.marks[self.view].update(self.marks)


def take_closings(draft: Draft, batch: Batch) -> int:
    """Add closed rows to those that wait, note marks, and revise finals; how many records could not be taken.

    Those are of versions not declared here, or changes of finals that are not remembered: these are quarantined.
    """
    taken, lost = 0, list[int]()
    for view in (draft.definition.by_name[name] for name in draft.definition.finals):
        if reads_again(draft.marker.views[view.name], batch.topic):
            taken += _count(view, batch)
        else:
            taken += _take(draft, view, batch, lost)
    quarantine(draft, batch, [(index, NOT_REVISABLE) for index in sorted(lost)])
    return len(batch) - taken + len(lost)


def take_again(draft: Draft, view: View, batch: Batch) -> None:
    """As `take_closings`, for a view that was not there when the task read it first."""
    lost = list[int]()
    _take(draft, view, batch, lost)
    quarantine(draft, batch, [(index, NOT_REVISABLE) for index in sorted(lost)])


def reads_again(position: ViewPosition, topic: str) -> bool:
    """Whether a view takes what the task reads now when it has come so far itself."""
    return position.state != LIVE and topic in position.built


def _take(draft: Draft, view: View, batch: Batch, lost: list[int]) -> int:
    """How many records are the view's; those that could not be taken are `lost`."""
    changes = _changes(view, batch)
    if view.window.merges:
        taken = _take_merging_rows(draft, view, batch) + _take_open_rows(draft, view, batch)
        lost += [change.at for change in changes]
    else:
        taken = _take_rows(draft, view, batch, changes, lost)
    return taken + _take_marks(draft, view, batch) + len(changes)


def _count(view: View, batch: Batch) -> int:
    """How many records are the view's."""
    heads = [closed_row_prefix(view), as_final_key(row_prefix(view)), open_head(view), mark_head(view)]
    return int((Blobs.of(batch.keys).beginning_with(heads) >= 0).sum())


def _take_rows(draft: Draft, view: View, batch: Batch, changes: Sequence[Change], lost: list[int]) -> int:
    """Rows that tasks have closed, and the changes of rows that they sent before."""
    keys, values = _beginning_with(batch, closed_row_prefix(view))
    if not len(keys) and not changes:
        return 0
    numbers, distinct = _row_numbers(view, keys, changes)
    windows, groups = decode_key_columns(view, distinct)
    cells, _ = cells_of(view, values)
    rows = Rows(windows, groups, merge_groups(view, cells, numbers[: len(keys)], len(distinct)))
    state = draft.state.closings[view.name]
    slots = state.find_slots(rows)
    known = slots >= 0
    rows.cells[known] = merge(view, state.cells_at(slots[known]), rows.cells[known])
    waits = known.copy()
    waits[numbers[: len(keys)]] = True
    _replace(draft, view, rows, waits, [*zip(numbers[len(keys) :].tolist(), changes, strict=True)], lost)
    _keep_waiting(draft, view, rows, slots, waits)
    return len(keys)


def _row_numbers(view: View, keys: Blobs, changes: Sequence[Change]) -> tuple[Int64s, Blobs]:
    """The number of each closed row, and of each row that was changed, and a key of each number."""
    all_keys = Blobs.joined([keys, [change.row_key for change in changes]]) if changes else keys
    head = len(row_prefix(view))
    numbers, first = numbered(Blobs(all_keys.data, all_keys.starts + head, all_keys.lengths - head))
    return numbers, all_keys.at(first)


def _take_merging_rows(draft: Draft, view: View, batch: Batch) -> int:
    """Rows that tasks have closed: what touches waits as one, whichever task's it was."""
    keys, values = _beginning_with(batch, closed_row_prefix(view))
    if not len(keys):
        return 0
    windows, groups = decode_key_columns(view, keys)
    cells, _ = cells_of(view, values)
    met = kernel_of(view).touching(draft.state.closings[view.name], Rows(windows, groups, cells))
    draft.drop_rows(view, met.swallowed, CLOSED_ROW)
    draft.keep_rows(view, met.rows, CLOSED_ROW)
    draft.effects.append(ClosingsChanged(view.name, met.change))
    return len(keys)


def _take_open_rows(draft: Draft, view: View, batch: Batch) -> int:
    keys, values = _beginning_with(batch, open_head(view))
    last = last_of_each(keys)
    take_open(draft, view, keys.at(last), values.at(last))
    return len(keys)


def _replace(
    draft: Draft, view: View, rows: Rows, waits: BoolArray, changes: Sequence[tuple[int, Change]], lost: list[int]
) -> None:
    """Change rows that wait, and revise finals that do not wait any more.

    A task's first row of a window that no task had a row of waits from now on: its final is the first.
    """
    if not changes:
        return
    published, remembered = list[Change](), draft.state.finals[view.name].find_slots(rows) >= 0
    for number, change in changes:
        if not waits[number] and (remembered[number] or change.replaced.old is not None):
            published.append(change)
            continue
        waits[number] = True
        rows.cells[number] = replaced_in(view, tuple(rows.cells[number].tolist()), [change], lost)
    if published:
        revised, not_remembered = revise_finals(draft, view, published)
        lost += not_remembered
        shown = Rows(revised.windows, revised.groups, revised.cells[:, :-1])
        draft.send(finals_of(view, shown, draft.state.marks[view.name], revised.cells[:, -1]))


def _keep_waiting(draft: Draft, view: View, rows: Rows, slots: Int64s, waits: BoolArray) -> None:
    """Keep the rows that wait; of one that has lost its last record nothing is to be published."""
    gone = waits & (rows.cells[:, COUNT_AT] == 0)
    kept = waits & ~gone
    draft.keep_rows(view, rows.at(np.flatnonzero(kept)), CLOSED_ROW)
    draft.drop_rows(view, rows.at(np.flatnonzero(gone)), CLOSED_ROW)
    known, new = kept & (slots >= 0), kept & (slots < 0)
    removed = slots[gone & (slots >= 0)]
    change = ViewChange(slots[known], rows.cells[known], rows.at(new), removed)
    draft.effects.append(ClosingsChanged(view.name, change))


def _changes(view: View, batch: Batch) -> list[Change]:
    """Changes of rows that were closed before."""
    prefix, head = as_final_key(row_prefix(view)), row_prefix(view)
    return [
        Change(index, head + key[len(prefix) :], decode_replaced(batch.values[index] or b""))
        for index, key in enumerate(batch.keys)
        if key is not None and key.startswith(prefix)
    ]


def _take_marks(draft: Draft, view: View, batch: Batch) -> int:
    keys, values = _beginning_with(batch, mark_head(view))
    told = {task_of(key or b""): decode_mark(value or b"") for key, value in zip(keys, values, strict=True)}
    marks = {task: mark for task, mark in told.items() if is_possible(view, mark.closed_to_us)}
    for task, mark in marks.items():
        draft.keep(mark_key(view, task), encode_mark(mark))
    if marks:
        draft.effects.append(MarksMoved(view.name, marks))
    return len(keys)


def _beginning_with(batch: Batch, head: bytes) -> tuple[Blobs, Blobs]:
    """Keys that begin so, and their values. LayoutError if one has none."""
    all_keys, all_values = Blobs.of(batch.keys), Blobs.of(batch.values)
    at = np.flatnonzero(all_keys.beginning_with([head]) == 0)
    nulls = at[all_values.lengths[at] == NULL]
    if len(nulls):
        raise LayoutError(
            f"{batch.topic}-{batch.partition} at offset {batch.offsets[nulls[0]]}: a closing without value"
        )
    return all_keys.at(at), all_values.at(at)

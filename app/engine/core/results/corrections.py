"""Corrections: judged one by one at the task's own position, and set or refused in words (rule 23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import orjson

from app.base import names
from app.codecs.stored.changelog import NULL_INTEGER
from app.codecs.stored.closings import Replaced
from app.codecs.stored.corrections import read_correction, read_outcome
from app.codecs.stored.row_keys import encode_keys
from app.codecs.text_column import GroupColumn
from app.domain.corrections.corrected import Applied, fold_corrections
from app.domain.corrections.correction import Correction, Refusal, adds_up, fits, why_not_applied
from app.domain.corrections.finals import final_keys
from app.domain.marker import LIVE, OffsetRange
from app.domain.obeyed import lowest_seen_us
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.engine.core.batch import Batch, Output
from app.engine.core.completing import begun_again, built_so_far, is_built
from app.engine.core.draft import Draft
from app.engine.core.results.revising import tell_replaced
from app.engine.core.rows.state import Rows, ViewChange
from app.engine.core.task_state import RowsChanged


class _Place(NamedTuple):
    version: str
    key: RowKey


def take_corrections(draft: Draft, batch: Batch) -> list[int]:
    """Apply the corrections that may be; gives the indices of those that cannot be read."""
    unreadable: list[int] = []
    now: dict[_Place, Cells | None] = {}  # rows as the corrections of this batch leave them
    held: dict[_Place, dict[int, Cells | None]] = {}  # and what finals hold of them where it is not the row before
    for i, value in enumerate(batch.values):
        correction = read_correction(value)
        if correction is None:
            unreadable.append(i)
            continue
        why = _judged(draft, correction, now)
        if why is None:
            place = _Place(correction.version, correction.key)
            now[place] = correction.row
            held.setdefault(place, {}).update(dict.fromkeys(correction.right_finals, correction.row))
        draft.outputs.append(_outcome(draft, batch, i, why))
    for place, row in now.items():
        view = draft.definition.by_version[place.version]
        before = _stored(draft, view, place.key)
        _set(draft, view, place.key, row)
        if draft.definition.is_closed_by_merging(view):
            _tell_replaced(draft, view, place.key, Replaced(before, row), held[place])
    return unreadable


def correct_again(draft: Draft, batch: Batch) -> None:
    """Fold in what corrections did to the views that wait for just these outcomes of them.

    A view of which a correction expected another row was built of other records than it was then: it begins once more,
    without corrections.
    """
    inputs, corrections = draft.marker.inputs, names.corrections_topic(draft.application, draft.definition.name)
    outcomes = list(filter(None, map(read_outcome, batch.values)))
    for view in draft.definition.views:
        position = draft.marker.views[view.name]
        again = position.corrections_again
        if again is None or again.from_offset != batch.base_offset or not is_built(position, inputs):
            continue
        applied = [
            Applied(one.partition, one.offset, one.correction)
            for one in outcomes
            if one.why is None
            and (one.topic, one.correction.version) == (corrections, view.version)
            and position.corrected_from <= one.offset
        ]
        if _fold_again(draft, view, applied):
            is_last = batch.next_offset >= again.to_offset
            rest = None if is_last else OffsetRange(batch.next_offset, again.to_offset)
            draft.move_view(view.name, built_so_far(replace(position, corrections_again=rest), inputs))
        else:
            draft.move_view(view.name, begun_again(position, position.start, inputs[corrections].next_offset))


def _fold_again(draft: Draft, view: View, applied: Sequence[Applied]) -> bool:
    """Whether each correction expected the row that there is; else nothing is changed."""
    keys = {one.correction.key for one in applied}
    held = {(draft.state.partition, key): cells for key in keys if (cells := _stored(draft, view, key)) is not None}
    if fold_corrections(view, held, applied):
        return False
    for key in keys:
        _set(draft, view, key, held.get((draft.state.partition, key)))
    return True


def _judged(draft: Draft, correction: Correction, now: dict[_Place, Cells | None]) -> Refusal | None:
    view = draft.definition.by_version.get(correction.version)  # whatever it was called then
    if view is None:
        return Refusal.OTHER_VERSION if correction.view in draft.definition.by_name else Refusal.NO_SUCH_VIEW
    if draft.marker.views[view.name].state != LIVE:
        return Refusal.NOT_LIVE
    if not fits(view, correction):
        return Refusal.UNREADABLE
    if not adds_up(view, correction, draft.state.partition):
        return Refusal.MISCOUNTED
    if view.window.merges and draft.definition.is_closed_by_merging(view):
        return Refusal.MERGING  # what was told of the row, and sent, would be another's
    place = _Place(view.version, correction.key)
    stored = now[place] if place in now else _stored(draft, view, correction.key)
    return why_not_applied(
        view, correction, stored, lowest_seen_us(view, draft.marker), draft.marker.views[view.name].expired_to_us
    )


def _stored(draft: Draft, view: View, key: RowKey) -> Cells | None:
    state = draft.state.views[view.name]
    (slot,) = state.find_slots(_row(view, key, view.neutral))
    return None if slot < 0 else tuple(state.cells_at(np.array([slot]))[0].tolist())


def _set(draft: Draft, view: View, key: RowKey, row: Cells | None) -> None:
    state, rows = draft.state.views[view.name], _row(view, key, row or view.neutral)
    slots = state.find_slots(rows)
    known, nothing = slots >= 0, rows.at(np.zeros(0, np.intp))
    if row is None:
        draft.drop_rows(view, rows)
        change = ViewChange(slots[:0], nothing.cells, nothing, slots[known])
    else:
        rows = rows.marked(np.ones(1, bool))
        draft.keep_rows(view, rows)
        change = ViewChange(slots[:0], nothing.cells, rows, slots[known])
    draft.effects.append(RowsChanged(view.name, change))


def _tell_replaced(draft: Draft, view: View, key: RowKey, replaced: Replaced, held: Mapping[int, Cells | None]) -> None:
    """`held`: by window, what its final holds of the row, where that is not the row before."""
    for start_us, group in final_keys(view, key):
        assert start_us is not None  # rows of all-time views are never corrected
        change = Replaced(held.get(start_us, replaced.old), replaced.new)
        if change.old == change.new:
            continue
        window = RowKey(start_us, (start_us, *group) if view.window.overlap else group)  # as the closing stage knows it
        row = _row(view, window, view.neutral)
        (row_key,) = encode_keys(view, row.windows, row.groups, 1)
        tell_replaced(draft, view, row_key, start_us, change)


def _row(view: View, key: RowKey, cells: Cells) -> Rows:
    windows = None if key.window_start_us is None else np.array([key.window_start_us], np.int64)
    groups = list[GroupColumn]()
    for text, value in zip(view.texts, key.group, strict=True):
        if text:
            groups.append(np.array([value], object))
        else:
            groups.append(np.array([NULL_INTEGER if value is None else int(value)], np.int64))
    return Rows(windows, groups, np.array([cells], np.int64))


def _outcome(draft: Draft, batch: Batch, i: int, why: Refusal | None) -> Output:
    """The correction as it came, and what became of it; those of a task stay in order."""
    outcome = {
        "topic": batch.topic,
        "partition": batch.partition,
        "offset": int(batch.offsets[i]),
        "outcome": "applied" if why is None else "refused",
        "why": why,
        "at": draft.state.marker.next_offsets,
        "correction": orjson.Fragment(batch.values[i] or b"null"),
    }
    topic = names.corrected_topic(draft.application)
    return Output(topic, batch.keys[i], orjson.dumps(outcome), partition=batch.partition)

"""Rows leave the table when their retention is over: tombstones, in bounded steps (rule 14)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.marker import LIVE
from app.domain.view import View
from app.engine.core.draft import Draft
from app.engine.core.rows.state import ViewChange
from app.engine.core.task_state import RowsChanged
from app.engine.core.views.ended import closable_to_us, next_ended

EXPIRED_ROWS = 20_000
"""About how many leave in one transaction."""


def expire_rows(draft: Draft, view: View) -> None:
    """Drop the rows whose windows ended longest ago, beyond grace and retention, and no sooner than they are closed."""
    position, to_us = draft.marker.views[view.name], _expirable_to_us(draft, view)
    if position.state != LIVE or to_us is None:
        return
    if draft.state.is_settled("expiry", view.name, to_us):
        return
    state = draft.state.views[view.name]
    ended = next_ended(state, None, to_us, EXPIRED_ROWS)
    if not len(ended.slots):
        draft.state.note_settled("expiry", view.name, to_us)
        return
    rows = state.rows_at(ended.slots)
    draft.drop_rows(view, rows)
    nothing = rows.at(np.zeros(0, np.intp))
    change = ViewChange(ended.slots[:0], nothing.cells, nothing, ended.slots)
    draft.effects.append(RowsChanged(view.name, change))
    draft.move_view(view.name, replace(position, expired_to_us=ended.to_us))


def _expirable_to_us(draft: Draft, view: View) -> int | None:
    closable_us = closable_to_us(view, draft.marker)
    if closable_us is None:
        return None
    to_us = closable_us - view.retention_us
    if not draft.definition.is_closed_by_merging(view):
        return to_us
    closed_to_us = draft.marker.views[view.name].closed_to_us
    return None if closed_to_us is None else min(to_us, closed_to_us)

"""Closing: rows that can no longer change go to the closing topic, with a mark that says how far (rule 17)."""

from __future__ import annotations

from dataclasses import replace

from app.codecs.blobs import Blobs
from app.codecs.stored.changelog import CLOSED_ROW, row_matrix
from app.codecs.stored.closing_columns import of_kind
from app.codecs.stored.closings import Mark, encode_mark, mark_key
from app.codecs.stored.row_key_columns import encode_key_columns
from app.domain.marker import LIVE
from app.domain.view import View
from app.engine.core.batch import Changes
from app.engine.core.draft import Draft
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.results.open_rows import TellingMoved, tell_open
from app.engine.core.results.sending import send_closings
from app.engine.core.views.ended import closable_to_us

CLOSED_ROWS = 5_000
"""About how many are closed in one transaction."""


def close_windows(draft: Draft, view: View) -> None:
    """Send the rows of the windows that ended next, and the mark, to every partition of the closing topic.

    Where rows merge, those that are open go before, and the mark waits until the last closed row is sent: what is
    open is told for a mark.
    """
    position, to_us = draft.marker.views[view.name], closable_to_us(view, draft.marker)
    if position.state != LIVE or to_us is None:
        return
    if position.closed_to_us is not None and position.closed_to_us >= to_us:
        return
    telling = tell_open(draft, view, to_us)
    if not telling.is_done:
        draft.effects.append(TellingMoved(view.name, telling))
        return
    state = draft.state.views[view.name]
    rows, closed_to_us = kernel_of(view).next_closed(state, position.closed_to_us, telling.to_us, CLOSED_ROWS)
    keys = encode_key_columns(view, rows.windows, rows.groups, len(rows))
    closed = Changes(of_kind(keys, CLOSED_ROW), Blobs.of_rows(row_matrix(rows.cells)))
    is_whole, mark = closed_to_us == telling.to_us, Changes.of(())
    if is_whole or not view.window.merges:
        told = encode_mark(Mark(closed_to_us, draft.marker.next_offsets))
        mark = Changes.of([(mark_key(view, draft.state.partition), told)])
    send_closings(draft, view, keys, closed, behind=mark)
    if view.window.merges:
        draft.effects.append(TellingMoved(view.name, None if is_whole else telling))
    draft.move_view(view.name, replace(position, closed_to_us=closed_to_us))

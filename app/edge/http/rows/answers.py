"""Merged rows as users read them: instants as text, zones by name, and the position they rest on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from app.domain.figures.contract import FigureValue
from app.domain.fingerprint import as_hex
from app.domain.records import Value
from app.domain.rows import COUNT_AT, RowKey, last_of
from app.domain.view import Group, View
from app.domain.windows.instants import to_iso
from app.edge.formats.format import Document, Told
from app.edge.http.context import Edge
from app.edge.http.long_work import MANY_DOCUMENTS, MANY_ROWS
from app.edge.http.owners import missing_facts
from app.edge.http.query.instants import watermark_text
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.query.text_places import place_of
from app.edge.http.rows.answered import Answered
from app.edge.http.rows.fold_rows import concatenated, key_at, merged, page
from app.edge.http.rows.gather import Gathered
from app.edge.http.rows.ranked_rows import cursor_key, ranked
from app.edge.http.rows.touching_rows import between, together
from app.edge.http.runs.last_run import reconciled_document
from app.edge.http.tabular.page_table import page_table
from app.edge.http.tabular.tables import window_ends
from app.edge.http.zone_names import Names, name_columns, names_document
from app.engine.core.rows.state import Rows, ViewState
from app.rides.zones import ZONE_COLUMNS

HELD_BACK_SHOWN = 10
"""As `watermark` tells all of them."""
LIVE, BATCH, MIXED = SOURCES = ("live", "batch", "mixed")
"""The tables; what a reconciliation has found right and kept; both."""
OPEN, CLOSED, CORRECTED = STATES = ("open", "closed", "corrected")
"""A closed row that a correction has set is no longer what was published of its window."""
Encoded = TypeVar("Encoded")
Encode = Callable[[Told], Encoded]


class Page(NamedTuple):
    """Rows of a page and one more, if there is one; and the rank of each, where they are ranked."""

    rows: Rows
    ranks: list[int] | None = None

    def document(self, query: RowsQuery, at: int, gathered: Gathered, names: Names) -> dict[str, Any]:
        """One of the rows as users read it."""
        key, cells = key_at(self.rows, at), self.rows.cells[at].tolist()
        corrected = self.rows.corrected is not None and bool(self.rows.corrected[at])
        told = row_document(query, key, cells, gathered.closed_to_us, names, gathered.past_below_us, corrected)
        return told if self.ranks is None else {"rank": self.ranks[at], **told}

    def table(self, query: RowsQuery, shown: int, gathered: Gathered, names: Names, meta: Document) -> Any:
        """The first rows as an Arrow table."""
        rows = self.rows.at(np.arange(shown))
        sources = _sources(query, rows, gathered.past_below_us)
        ranks = None if self.ranks is None else self.ranks[:shown]
        return page_table(query, rows, gathered.closed_to_us, names, sources, ranks, meta)

    def key(self, query: RowsQuery, at: int) -> RowKey:
        """What a cursor behind one of the rows holds."""
        key = key_at(self.rows, at)
        if self.ranks is None or query.arrangement.ranking is None:
            return place_of(key)
        return cursor_key(query.arrangement.ranking.among, key, self.ranks[at])


async def rows_answer(edge: Edge, asked: Answered, encode: Encode[Encoded]) -> Encoded:
    """What is made of the page; `next_cursor` in its meta is null on the last one."""
    query, gathered, as_of_us = asked
    meta = meta_document(edge, query.view, gathered)
    if as_of_us is not None:
        meta["as_of"] = watermark_text(as_of_us)
    rows = sum(len(part.rows) for part in gathered.parts.values())
    documents = rows if query.arrangement.ranking else min(rows, query.limit)  # all have figures that may rank them
    is_long = rows > MANY_ROWS or documents > MANY_DOCUMENTS
    return await edge.long_work.run(is_long, _page, query, gathered, edge.names, meta, encode)


def _page(
    query: RowsQuery,
    gathered: Gathered,
    names: Names,
    meta: Document,
    encode: Encode[Encoded],
) -> Encoded:
    found = whole_page(query, gathered)
    shown = range(min(len(found.rows), query.limit))
    next_cursor = query.cursor_after(found.key(query, shown[-1])) if len(found.rows) > query.limit else None
    meta |= {"next_cursor": next_cursor}
    told = (found.document(query, at, gathered, names) for at in shown)
    return encode(Told(told, meta, lambda: found.table(query, len(shown), gathered, names, meta)))


def meta_document(edge: Edge, view: View, gathered: Gathered) -> dict[str, Any]:
    """What an answer rests on: positions (next offsets), watermarks and lags by topic-partition;
    `token` is the position as `min_position` takes it."""
    states = {
        f"{topic}-{partition}": state
        for partition, part in sorted(gathered.parts.items())
        for topic, state in sorted(part.inputs.items())
    }
    position = {at: state.next_offset for at, state in states.items()}
    left_us, past = gathered.left_below_us(view), gathered.past
    return {
        "view": view.name,
        "version": view.version,
        "as_of": watermark_text(gathered.lowest_watermark_us),
        "held_back_by": [str(at) for at in gathered.held_back_by[:HELD_BACK_SHOWN]],
        "position": position,
        "token": ",".join(f"{at}:{next_offset}" for at, next_offset in position.items()),
        "watermark": {at: watermark_text(state.watermark_us) for at, state in states.items()},
        "lag_records": {at: state.lag_records for at, state in states.items()},
        "left_before": None if left_us is None else to_iso(left_us),
        "history": None if past is None else {"run": past.run_id, "final_to": to_iso(past.final_to_us)},
        "reconciled": reconciled_document(edge, view),
        "stale": [{"partition": p, "seconds": seconds} for p, seconds in sorted(gathered.stale.items())],
        "partial": gathered.is_partial,
        "missing": missing_facts(edge.directory(view), gathered.missing),
        "zones": names_document(edge.names),
    }


def row_document(
    query: RowsQuery,
    key: RowKey,
    cells: list[int],
    closed_to_us: int,
    names: Names,
    left_below_us: int | None = None,
    corrected: bool = False,
) -> dict[str, Any]:
    """One row. It is closed when no partition of the view takes records for its window any more. What is stored under
    starts below `left_below_us` is from the history."""
    view = query.view
    stored = dict(zip(view.cells, cells, strict=True))
    end_us = _end_us(query, key, cells)
    state = OPEN if end_us is None or end_us > closed_to_us else CORRECTED if corrected else CLOSED
    return {
        "window": _window_document(key.window_start_us, end_us),
        "group": group_document(query.arrangement.groups_of(view), key, names),
        **_shown(query, cells),
        "count": stored["count"],
        "fingerprint": as_hex(stored["fingerprint"]),
        "state": state,
        "final": state == CLOSED and not query.is_folded and query.arrangement.kept is None,
        "source": _source(query, key.window_start_us, end_us, left_below_us),
    }


def _source(query: RowsQuery, start_us: int | None, end_us: int | None, left_below_us: int | None) -> str:
    """What the row was had from. A window that is folded of panes may have some from either."""
    if start_us is None or end_us is None or left_below_us is None or start_us >= left_below_us:
        return LIVE
    return MIXED if query.is_folded and end_us > left_below_us else BATCH


def _sources(query: RowsQuery, rows: Rows, left_below_us: int | None) -> list[str]:
    """Of each row."""
    if rows.windows is None or left_below_us is None:
        return [LIVE] * len(rows)
    spans = zip(rows.windows.tolist(), window_ends(query, rows.windows, rows.cells).tolist(), strict=True)
    return [_source(query, start_us, end_us, left_below_us) for start_us, end_us in spans]


def _shown(query: RowsQuery, cells: list[int]) -> dict[str, Any]:
    """Those measures and figures that are asked for; figures where the view has some."""
    view, wanted = query.view, query.arrangement.shown
    told: dict[str, Any] = {"measures": view.present(cells)}
    if view.figures:
        figures = view.figured(told["measures"], cells[COUNT_AT])
        told["figures"] = {name: figure_document(value) for name, value in figures.items()}
    if not wanted:
        return told
    return {kind: {name: held[name] for name in wanted if name in held} for kind, held in told.items()}


def figure_document(value: FigureValue) -> Any:
    """A number, or a bin by its ends, of which an open one is null."""
    return {"from": value[0], "to": value[1]} if isinstance(value, tuple) else value


def group_document(groups: Sequence[Group], key: RowKey, names: Names) -> dict[str, Value]:
    """The groups' values; where one is a zone, its name and borough beside it."""
    told: dict[str, Value] = {}
    for group, value in zip(groups, key.group, strict=True):
        told[group.name] = value
        if group.column in ZONE_COLUMNS:
            told |= name_columns(names, group.name, value)
    return told


def whole_page(query: RowsQuery, gathered: Gathered) -> Page:
    """The page from the pages of the parts."""
    pieces = gathered.pieces
    if not pieces:
        return Page(ViewState(query.view).select())
    rows = _whole_windows(query.view, _merged(query, concatenated(pieces)), gathered)
    if (ranking := query.arrangement.ranking) is not None:
        return Page(*ranked(query, ranking, rows))
    return Page(page(rows, query.after, query.limit + 1, newest_first=query.newest_first))


def _whole_windows(view: View, rows: Rows, gathered: Gathered) -> Rows:
    """Without those of windows that have left some task's table, unless all that begin there are of the history."""
    left_us = None if gathered.past is not None else gathered.left_below_us(view)
    return rows if left_us is None or rows.windows is None else rows.at(np.flatnonzero(rows.windows >= left_us))


def _merged(query: RowsQuery, rows: Rows) -> Rows:
    if query.view.window.merges:
        return between(query, together(query.view, rows))
    return merged(query.view, rows, query.tiled_us, query.aligned_us)


def _end_us(query: RowsQuery, key: RowKey, cells: Sequence[int]) -> int | None:
    if key.window_start_us is None:
        return None
    if query.window_us is None:
        return query.view.window.window_end(key.window_start_us, last_of(query.view, cells))
    return key.window_start_us + query.window_us


def _window_document(start_us: int | None, end_us: int | None) -> dict[str, str] | None:
    return None if start_us is None or end_us is None else {"start": to_iso(start_us), "end": to_iso(end_us)}

"""Rows by rank: the highest first, of each window or of all; equal ones by count, then latest event, then key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s, Mask
from app.domain.measures.parts import Op
from app.domain.rows import COUNT_AT
from app.domain.view import View
from app.edge.http.query.arrangement import Ranking
from app.edge.http.query.rows_query import RowsQuery
from app.engine.core.rows.state import Rows


def ranked(query: RowsQuery, ranking: Ranking, rows: Rows) -> tuple[Rows, list[int]]:
    """At most `limit` + 1 rows behind the query's cursor, and the rank of each; `rows` are whole, and in order."""
    windows = None if ranking.among_all else rows.windows
    order = np.lexsort([*_tie_breaks(query.view, rows.cells), *_falling(query.view, ranking.by, rows.cells)])
    if windows is not None:
        order = order[np.argsort(~windows[order] if query.newest_first else windows[order], kind="stable")]
        windows = windows[order]
    ranks = _places_in_runs(windows, len(rows))
    shown = np.flatnonzero((ranks <= ranking.top) & _behind(query, windows, ranks))[: query.limit + 1]
    return rows.at(order[shown]), ranks[shown].tolist()


def _tie_breaks(view: View, cells: Int64s) -> Iterator[Int64s]:
    """What decides between equal values, the last first; `~` turns the order of integers round without overflowing."""
    latest = next((p.cells[0] for p in view.parts if p.op is Op.MAX and p.column == view.source.reported_at), None)
    if latest is not None:
        yield ~cells[:, view.cells.index(latest)]
    yield ~cells[:, COUNT_AT]


def _falling(view: View, by: str, cells: Int64s) -> Sequence[npt.NDArray[Any]]:
    """The values as keys that sort the highest first, and behind it which there are none of: those come last."""
    for figure in view.figures:
        if figure.name == by:
            told = (view.figured(view.present(row), row[COUNT_AT])[by] for row in cells.tolist())
            values = np.fromiter((np.nan if value is None else value for value in told), float, len(cells))
            return np.where(np.isnan(values), 0.0, -values), np.isnan(values)
    for shown in view.shown:
        if shown.name == by:
            values = ~cells[:, view.cells.index(shown.cells[0])]
            absent = np.zeros(len(cells), bool)
            if shown.unless_zero is not None:
                absent = cells[:, view.cells.index(shown.unless_zero)] == 0
            return np.where(absent, 0, values), absent
    return (~cells[:, COUNT_AT],)


def _places_in_runs(windows: Int64s | None, size: int) -> Int64s:
    """1, 2, … in each run of equal windows."""
    places = np.arange(1, size + 1)
    if windows is None or not size:
        return places
    begins = np.flatnonzero(np.append(True, windows[1:] != windows[:-1]))
    return places - np.repeat(begins, np.diff(begins, append=size))


def _behind(query: RowsQuery, windows: Int64s | None, ranks: Int64s) -> Mask:
    """Which rows come after the cursor's window and rank."""
    if query.after is None:
        return np.ones(len(ranks), bool)
    (last,) = query.after.group
    farther = ranks > (last if isinstance(last, int) else 0)
    at_us = query.after.window_start_us
    if windows is None or at_us is None:
        return farther
    later = windows < at_us if query.newest_first else windows > at_us
    return np.asarray(later | ((windows == at_us) & farther))

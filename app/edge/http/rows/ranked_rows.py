"""Rows by rank: the highest first, of each window, of each group or of all; equal ones by count, latest event, key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.domain.measures.parts import Op
from app.domain.records import Value
from app.domain.rows import COUNT_AT, RowKey
from app.domain.view import View
from app.edge.http.query.arrangement import Among, Ranking
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.query.text_places import place_of
from app.edge.http.rows.fold_rows import group_rank, key_at, run_starts, sortable
from app.engine.core.rows.state import Rows


def ranked(query: RowsQuery, ranking: Ranking, rows: Rows) -> tuple[Rows, list[int]]:
    """At most `limit` + 1 rows behind the query's cursor, and the rank of each; `rows` are whole, and in order."""
    if not len(rows):
        return rows, []
    runs = list(_ranked_together(query, ranking.among, rows))
    falling = [*_tie_breaks(query.view, rows.cells), *_falling(query.view, ranking.by, rows.cells)]
    order = np.lexsort([*falling, *reversed(runs)])
    ranks = _places_in_runs([run[order] for run in runs], len(rows))
    chosen = np.flatnonzero(ranks <= ranking.top)
    rows, ranks = rows.at(order[chosen]), ranks[chosen]
    if query.after is not None:
        place = _places(query, ranking.among)
        begins = bisect_right(
            range(len(rows)),
            place(query.after.window_start_us, query.after.group),
            key=lambda at: place(*cursor_key(ranking.among, key_at(rows, at), int(ranks[at]))),
        )
        rows, ranks = rows.at(np.arange(begins, len(rows))), ranks[begins:]
    shown = np.arange(min(len(rows), query.limit + 1))
    return rows.at(shown), ranks[shown].tolist()


def cursor_key(among: Among, key: RowKey, rank: int) -> RowKey:
    """What a cursor behind a ranked row holds: what it was ranked among, and its rank."""
    window_start_us = key.window_start_us if among is Among.WINDOW else None
    return RowKey(window_start_us, (*(place_of(key).group if among is Among.GROUP else ()), rank))


def _ranked_together(query: RowsQuery, among: Among, rows: Rows) -> Iterator[Int64s]:
    """Columns that are equal in rows that are ranked together, and sort as those come."""
    if among is Among.WINDOW and rows.windows is not None:
        yield ~rows.windows if query.newest_first else rows.windows
    if among is Among.GROUP:
        yield from (sortable(held) for held in rows.groups)


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


def _places_in_runs(runs: Sequence[Int64s], size: int) -> Int64s:
    """1, 2, … in each run of equal rows."""
    begins = run_starts(runs, size)
    return np.arange(1, size + 1) - np.repeat(begins, np.diff(begins, append=size))


def _places(query: RowsQuery, among: Among) -> Callable[[int | None, tuple[Value, ...]], tuple[Any, ...]]:
    """Of a cursor's key where it stands, in the order in which ranked rows come."""

    def place(window_start_us: int | None, values: tuple[Value, ...]) -> tuple[Any, ...]:
        *group, rank = values
        at_us = window_start_us or 0
        return (-at_us if query.newest_first else at_us, *group_rank(group), rank or 0)

    return place

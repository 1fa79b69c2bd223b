"""The tables that a statement reads, from all tasks: those of one group at one marker of each task."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.context import Edge
from app.edge.http.owners import of_all_tasks, partitions_missing, unusable
from app.edge.http.problems import TYPES
from app.edge.http.query.instants import instant_range
from app.edge.http.query.rows_query import ALL_ROWS, RowsQuery
from app.edge.http.rows.gather import MANY_BYTES, Gathered
from app.edge.http.rows.own_parts import too_much_there
from app.edge.http.sql.own_tables import TaskTables, decode_tables, own_tables

OWN_TABLES = "/v1/internal/tables"
Range = tuple[int | None, int | None]
"""Windows that start from the first on and before the second; None is open."""


def queries_of(edge: Edge, views: Sequence[View], range_us: Range) -> list[RowsQuery]:
    """All rows of each view within the range, as far as it has windows."""
    return [_query(edge, view, range_us) for view in views]


class TableRows(NamedTuple):
    """What all tasks gave of a view."""

    query: RowsQuery
    gathered: Gathered


async def gather_tables(edge: Edge, views: Sequence[View], range_us: Range) -> list[TableRows]:
    """One for each view. The `partitions-missing` problem where a task of a group cannot be had."""
    found = []
    for of_group in _by_group(edge, views):
        queries = queries_of(edge, of_group, range_us)
        tables, missing = await of_all_tasks(edge, _AskedTables(edge, queries, range_us))
        if missing:
            names = ", ".join(view.name for view in of_group)
            raise partitions_missing(names, edge.directory(of_group[0]), missing, takes_partial=False)
        for query in queries:
            parts = {partition: of_task[query.view.name] for partition, of_task in tables.items()}
            found.append(TableRows(query, Gathered(parts)))
    return found


class _AskedTables:
    """Those of one group."""

    def __init__(self, edge: Edge, queries: Sequence[RowsQuery], range_us: Range) -> None:
        self._edge, self._queries, self._range_us = edge, queries, range_us
        self.directory = edge.directory(queries[0].view)
        self.address = OWN_TABLES
        self.not_given = "does not hold these versions of the views now"

    def parameters(self) -> list[tuple[str, str]]:
        views = [("view", query.view.name) for query in self._queries]
        ends = zip(("from", "to"), self._range_us, strict=True)
        return [*views, *((name, to_iso(us)) for name, us in ends if us is not None)]

    async def own(self, partitions: Sequence[int]) -> Mapping[int, TaskTables]:
        return await own_tables(self._edge, self._queries, partitions)

    async def read(self, url: str, status: int, body: bytes) -> Mapping[int, TaskTables]:
        if status == TYPES["too-much"].status:
            raise too_much_there(url, body)
        if status != 200:
            raise unusable(status)
        tables = await self._edge.long_work.run(len(body) > MANY_BYTES, decode_tables, self._queries, body)
        versions = {query.view.name: query.view.version for query in self._queries}
        return {
            partition: of_task
            for partition, of_task in tables.items()
            if all(part.version == versions[name] for name, part in of_task.items())
        }


def _by_group(edge: Edge, views: Sequence[View]) -> list[list[View]]:
    groups = defaultdict[int, list[View]](list)
    for view in views:
        groups[id(edge.directory(view))].append(view)
    return list(groups.values())


def _query(edge: Edge, view: View, range_us: Range) -> RowsQuery:
    from_us, until_us = (us if us is None or not view.window.ends else _within(view, us) for us in range_us)
    pane_us = panes.size_us if (panes := view.window.panes) else None
    if not view.window.ends:
        from_us = until_us = None
    return RowsQuery(view, from_us, until_us, pane_us, limit=ALL_ROWS)


def _within(view: View, instant_us: int) -> int:
    first_us, last_us = instant_range(view)
    return min(max(instant_us, first_us), last_us)

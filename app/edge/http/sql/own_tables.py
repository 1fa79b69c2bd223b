"""Rows of several views of one group, of each task owned here all at one marker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack

import orjson

from app.edge.http.context import Edge
from app.edge.http.long_work import COPY_ROWS
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.own_parts import serves, within_budget
from app.edge.http.rows.page_rows import reading_of
from app.edge.http.rows.parts import TaskRows, encode_parts, part_with, read_parts
from app.engine.core.task_state import TaskState

TaskTables = Mapping[str, TaskRows]
"""The rows of one task by the views' names."""


async def own_tables(
    edge: Edge,
    queries: Sequence[RowsQuery],
    partitions: Sequence[int],
    before: Callable[[], Awaitable[object]] | None = None,
) -> dict[int, TaskTables]:
    """Of those partitions that are owned here and hold all of the views; the `too-much` problem before any is copied.

    `before` is awaited before rows are copied, which may take long.
    """
    directory = edge.directory(queries[0].view)
    _require_few(edge, queries, [task for p in partitions if (task := directory.tasks.get(p)) is not None])
    if before is not None:
        await before()
    tables = {}
    async with edge.long_work.turn:
        for partition in partitions:
            task = directory.tasks.get(partition) if directory.answers else None
            if task is not None and all(serves(task, query.view) for query in queries):
                tables[partition] = await _of_task(edge, queries, task)
    return tables


def _require_few(edge: Edge, queries: Sequence[RowsQuery], tasks: Sequence[TaskState]) -> None:
    """The `too-much` problem where those of a view are more, over all tasks that are here, than a worker folds."""
    for query in queries:
        held = [task for task in tasks if serves(task, query.view)]
        within_budget(edge, query, [reading_of(query, task) for task in held])


async def _of_task(edge: Edge, queries: Sequence[RowsQuery], task: TaskState) -> TaskTables:
    """Snapshots and position are taken together, between two awaits."""
    readings = [reading_of(query, task) for query in queries]
    for query, reading in zip(queries, readings, strict=True):
        within_budget(edge, query, [reading])
    with ExitStack() as held:
        standing, snapshots = [], []
        for query, reading in zip(queries, readings, strict=True):
            state = task.views[query.view.name]
            standing.append(part_with(edge.directory(query.view), task, query.view, state.rows_at(reading.slots[:0])))
            snapshots.append(held.enter_context(state.snapshot(reading.slots)))
        for snapshot in snapshots:
            async for _ in edge.long_work.in_steps(snapshot.copy(COPY_ROWS)):
                pass
    tables = {}
    for query, part, reading, snapshot in zip(queries, standing, readings, snapshots, strict=True):
        rows = await edge.long_work.run(True, reading.fold, snapshot.rows())
        assert rows is not None  # all rows of the range are read, so it never takes more of them
        tables[query.view.name] = part._replace(rows=rows)
    return tables


def encode_tables(tables: Mapping[int, TaskTables]) -> bytes:
    """Tables as one worker sends them to another: the parts of each view by its name."""
    names = {name for of_task in tables.values() for name in of_task}
    parts = {name: [of_task[name] for of_task in tables.values()] for name in names}
    return orjson.dumps({name: orjson.Fragment(encode_parts(of_view)) for name, of_view in parts.items()})


def decode_tables(queries: Sequence[RowsQuery], body: bytes) -> dict[int, TaskTables]:
    """Inverse of `encode_tables`; ValueError, KeyError or TypeError if it is something else."""
    told, tables = orjson.loads(body), defaultdict[int, dict[str, TaskRows]](dict)
    for query in queries:
        for part in read_parts(query, told.get(query.view.name, [])):
            tables[part.partition][query.view.name] = part
    return {partition: of_task for partition, of_task in tables.items() if len(of_task) == len(queries)}

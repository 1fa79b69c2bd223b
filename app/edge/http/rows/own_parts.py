"""The parts of the tasks that are owned here, and how many rows a worker folds for one request at most."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import orjson

from app.base.setting_groups import variable
from app.domain.marker import LIVE
from app.domain.view import View
from app.edge.http.context import Edge
from app.edge.http.long_work import MANY_ROWS
from app.edge.http.problems import Problem
from app.edge.http.query.rows_query import ALL_ROWS, RowsQuery
from app.edge.http.rows.page_rows import reading_of
from app.edge.http.rows.parts import TaskRows, part_of, part_with
from app.edge.http.rows.reading import Reading
from app.engine.core.task_state import TaskState


async def own_parts(
    edge: Edge,
    query: RowsQuery,
    partitions: Sequence[int],
    before_long: Callable[[], Awaitable[object]] | None = None,
    *,
    folds_few: bool = True,
) -> list[TaskRows]:
    """Parts of those partitions that are owned here; the `too-much` problem before any of them is copied.

    Those of few rows at once; many are copied in slices and folded in a thread, each part of one commit all the same.
    `before_long` is awaited before that begins. Without `folds_few` a part of few rows is left to be folded with the
    others.
    """
    tasks = [task for p in partitions if (task := _served(edge, query.view, p))]
    readings = [reading_of(query, task) for task in tasks]
    rows = within_budget(edge, query, readings)
    if rows <= MANY_ROWS:
        directory = edge.directory(query.view)
        readings = readings if folds_few else [reading.unfolded for reading in readings]
        return [part_of(directory, task, query, reading) for task, reading in zip(tasks, readings, strict=True)]
    if before_long is not None:
        await before_long()
    async with edge.long_work.turn:
        parts = [await _part_beside(edge, query, p) for p in partitions]
    return [part for part in parts if part]


def stale_parts(edge: Edge, query: RowsQuery, partitions: Iterable[int]) -> list[TaskRows]:
    """Parts of those that are not answered from here now, out of what was known of them last, as old as the query
    allows. None of those that would be copied or folded beside the loop: it may be read on meanwhile."""
    directory, view = edge.directory(query.view), query.view
    known = [one for p in partitions if (one := directory.last_known(p)) and serves(one.state, view)]
    young = [one for one in known if one.age_seconds * 1e6 <= (query.max_staleness_us or 0)]
    readings = [reading_of(query, one.state) for one in young]
    if within_budget(edge, query, readings) > MANY_ROWS:
        return []
    return [
        part_of(directory, one.state, query, reading)._replace(stale_seconds=round(one.age_seconds, 3))
        for one, reading in zip(young, readings, strict=True)
    ]


async def _part_beside(edge: Edge, query: RowsQuery, partition: int) -> TaskRows | None:
    """The task's part, or None if it is not here by now. The loop goes on meanwhile, and so may the task."""
    more, rows = 1, None
    while rows is None:
        task = _served(edge, query.view, partition)
        if task is None:
            return None
        reading = reading_of(query, task, more)
        within_budget(edge, query, [reading])
        state = task.views[query.view.name]
        standing = part_with(edge.directory(query.view), task, query.view, state.rows_at(reading.slots[:0]))
        copy = await edge.long_work.copied(state, reading.slots)
        rows = await edge.long_work.run(True, reading.fold, copy)
        more *= 4
    return standing._replace(rows=rows)


def _served(edge: Edge, view: View, partition: int) -> TaskState | None:
    directory = edge.directory(view)
    task = directory.tasks.get(partition) if directory.answers else None
    return task if task is not None and serves(task, view) else None


def within_budget(edge: Edge, query: RowsQuery, readings: Sequence[Reading]) -> int:
    """How many rows are folded for these; the `too-much` problem if they are more than a worker may."""
    rows = sum(reading.folded_rows for reading in readings)
    if rows > edge.limits.max_rows:
        raise too_much(query, rows, edge.limits.max_rows)
    return rows


def serves(task: TaskState, view: View) -> bool:
    """Whether the task holds this very version of the view, whole."""
    position = task.marker.views.get(view.name)
    whole = position is None or (position.version == view.version and position.state == LIVE)
    return whole and view.name in task.views


def too_much(query: RowsQuery, rows: int, allowed_rows: int) -> Problem:
    """The problem of a request for which one worker would fold more rows than it may."""
    view = query.view
    less = ["narrow from and to"] if view.window.ends else []
    if query.limit < ALL_ROWS:  # who asks for all can name neither groups nor windows
        less += [f"name a group ({', '.join(f'{group.name}=…' for group in view.groups)})"] if view.groups else []
        less += ["ask for shorter windows"] if view.window.panes else []
    advice = f"Ask for less: {', '.join(less)}, or take" if less else "Take"
    detail = (
        f"{rows:,} rows of {view.name} would be folded by one worker, which folds {allowed_rows:,} for a request "
        f"({variable('http_max_rows')}). {advice} all rows of a task by "
        f"/v1/views/{view.name}/export."
    )
    return Problem("too-much", detail, rows=rows, allowed_rows=allowed_rows)


def too_much_there(url: str, body: bytes) -> Problem:
    """The same problem as another worker told it; ValueError if it told something else."""
    document: Any = orjson.loads(body)
    told = document if isinstance(document, dict) else {}
    detail, rows, allowed_rows = (told.get(name) for name in ("detail", "rows", "allowed_rows"))
    if not (isinstance(detail, str) and isinstance(rows, int) and isinstance(allowed_rows, int)):
        raise ValueError("it refused, and did not say why")
    return Problem("too-much", f"{url}: {detail}", rows=rows, allowed_rows=allowed_rows)

"""The parts of the tasks that are owned here, and how many rows a worker folds for one request at most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from app.base.settings import variable
from app.domain.marker import LIVE
from app.domain.view import AllTime, Tumbling, View
from app.edge.http.context import Edge
from app.edge.http.page_rows import reading_of
from app.edge.http.parts import Part, part_of
from app.edge.http.problems import Problem
from app.edge.http.rows_query import RowsQuery
from app.engine.core.task_state import TaskState


def own_parts(edge: Edge, query: RowsQuery, partitions: Sequence[int]) -> list[Part]:
    """Parts of those partitions that are owned here; the `too-much` problem before any of them is copied."""
    directory = edge.directory(query.view)
    held = directory.tasks
    tasks = [held[p] for p in partitions if p in held and serves(held[p], query.view)]
    readings = [reading_of(query, task) for task in tasks]
    rows = sum(reading.folded_rows for reading in readings)
    if rows > edge.limits.max_rows:
        raise too_much(query.view, rows, edge.limits.max_rows)
    return [part_of(directory, task, query, reading) for task, reading in zip(tasks, readings, strict=True)]


def serves(task: TaskState, view: View) -> bool:
    """Whether the task holds this very version of the view, whole."""
    position = task.marker.views.get(view.name)
    whole = position is None or (position.version == view.version and position.state == LIVE)
    return whole and view.name in task.views


def too_much(view: View, rows: int, allowed_rows: int) -> Problem:
    """The problem of a request for which one worker would fold more rows than it may."""
    less = [f"name a group ({', '.join(f'{group.name}=…' for group in view.groups)})"] if view.groups else []
    if not isinstance(view.window, AllTime):
        less.insert(0, "narrow from and to")
    if isinstance(view.window, Tumbling):
        less.append("ask for shorter windows")
    detail = (
        f"{rows:,} rows of {view.name} would be folded by one worker, which folds {allowed_rows:,} for a request "
        f"({variable('http_max_rows')}). Ask for less: {', '.join(less)}, or take all rows of a task by "
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

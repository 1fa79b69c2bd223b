"""Rows that have left their table, and tasks whose rows have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.domain.marker import Marker, ViewPosition
from app.domain.records import as_integer
from app.domain.rows import Cells, RowKey, end_of
from app.domain.view import View
from app.engine.core.task_state import TaskState
from tests.support.flow import ByTask
from tests.support.material.stored.tables import TableRows, task_of


def kept(view: View, rows: ByTask, markers: Mapping[int, Marker]) -> ByTask:
    """Rows that their task has not dropped as expired; `markers`: the last one of each task."""
    positions = {partition: marker.views[view.name] for partition, marker in markers.items()}
    return {(p, key): cells for (p, key), cells in rows.items() if not _has_expired(view, key, cells, positions[p])}


def _has_expired(view: View, key: RowKey, cells: Cells, position: ViewPosition) -> bool:
    """Rows of all time never do."""
    if key.window_start_us is None or position.expired_to_us is None:
        return False
    return end_of(view, key, cells) <= position.expired_to_us


def left(view: View, table: TableRows, expired_to_us: int | None, partition: int = 0) -> TaskState:
    """A task from whose table all windows have gone that had ended by then."""
    if expired_to_us is not None:
        kept_from_us = view.window.ended_below(expired_to_us)
        table = {key: cells for key, cells in table.items() if as_integer(key.window_start_us) >= kept_from_us}
    task = task_of(partition, {view: table})
    position = replace(task.marker.views[view.name], expired_to_us=expired_to_us)
    task.marker = replace(task.marker, views={view.name: position})
    return task

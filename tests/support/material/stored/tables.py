"""Tables made by hand: states, tasks and directories whose content a test writes down as plain rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app.codecs.stored.changelog import NULL_INTEGER
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.source import Source
from app.domain.view import View
from app.engine.core.rows.state import Rows, ViewState
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.directory import Directory
from app.engine.drive.standing import GroupStanding

TableRows = Mapping[RowKey, Cells]


def state_of(view: View, table: TableRows) -> ViewState:
    """A view's state that holds these rows."""
    state = ViewState(view)
    state.append(rows_of_table(view, table))
    return state


def rows_of_table(view: View, table: TableRows) -> Rows:
    """These rows by column."""
    keys = list(table)
    windows = np.array([k.window_start_us for k in keys], np.int64) if view.window.ends else None
    groups: list[Any] = [
        np.array([k.group[at] for k in keys], object)
        if text
        else np.array([NULL_INTEGER if k.group[at] is None else k.group[at] for k in keys], np.int64)
        for at, text in enumerate(view.texts)
    ]
    cells = np.array([table[k] for k in keys], np.int64).reshape(len(keys), len(view.cells))
    return Rows(windows, groups, cells)


def task_of(
    partition: int,
    tables: Mapping[View, TableRows],
    *,
    watermark_us: int = 0,
    next_offset: int = 100,
    marker_offset: int = 7,
    sources: Sequence[Source] = (),
) -> TaskState:
    """A task whose views hold these rows; every topic stands at the same offset and watermark.

    `sources`: those it reads, if views do not say it.
    """
    sources = sources or [view.source for view in tables][:1]
    topics = [topic.name for source in sources for topic in source.topics]
    inputs = {topic: InputPosition("id", 0, next_offset, watermark_us, next_offset) for topic in topics}
    positions = {view.name: ViewPosition(view.number, view.version) for view in tables}
    marker = Marker("flagfall", sources[0].number, partition, 3, inputs, positions)
    states = {view.name: state_of(view, rows) for view, rows in tables.items()}
    return TaskState(marker, states, marker_offset)


def ready_directory(tasks: Sequence[TaskState], *, url: str = "http://here", partitions: int = 0) -> Directory:
    """A directory of a ready worker that owns these tasks."""
    here = {task.partition: task for task in tasks}
    count = partitions or len(here)
    return Directory(url, count, GroupStanding.READY, here, dict.fromkeys(here, url))


def cells_of(view: View, seed: int) -> Cells:
    """Cells that differ in every column, as a function of a seed."""
    return tuple(seed * 31 + at for at in range(len(view.cells)))


def merge_tables(view: View, tables: Sequence[TableRows], window_us: int | None) -> dict[RowKey, Cells]:
    """The naive merge: rows of all tables under their folded key."""
    gathered: dict[RowKey, list[Cells]] = {}
    for table in tables:
        for key, cells in table.items():
            start = key.window_start_us
            window = None if start is None or window_us is None else start // window_us * window_us
            gathered.setdefault(RowKey(window, key.group), []).append(cells)
    return {key: merge_rows(view, rows) for key, rows in gathered.items()}


def in_order(keys: Sequence[RowKey]) -> list[RowKey]:
    """By window, then group, null before any value."""
    return sorted(keys, key=lambda k: (k.window_start_us or 0, [(v is not None, v) for v in k.group]))

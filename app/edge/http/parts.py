"""A part: what one task gives to an answer, copied from one committed state, and its form between workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from app.codecs.changelog import Int64s
from app.domain.epochs import GraceEpoch, SkewEpoch
from app.domain.event_time import NO_WATERMARK
from app.domain.source import Kind
from app.domain.view import Tumbling, View
from app.domain.windows import Hopping
from app.edge.http.fold_rows import merged, page
from app.edge.http.hopping_rows import page_windows
from app.edge.http.rows_query import RowsQuery
from app.engine.core.state import Rows, ViewState
from app.engine.core.task_state import TaskState
from app.engine.drive.directory import Directory


@dataclass(frozen=True, slots=True)
class InputState:
    """How far a task had read one topic. `lag_records` is None where the log's end is not known.

    `closed_to_us`: up to where the view's windows take no more records of it. `skews` and `graces`: by which rules its
    records were judged, from which offset on.
    """

    next_offset: int
    watermark_us: int = NO_WATERMARK
    lag_records: int | None = None
    closed_to_us: int = NO_WATERMARK
    skews: tuple[SkewEpoch, ...] = ()
    graces: tuple[GraceEpoch, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one task, merged and cut to the query's page, with the position they belong to."""

    partition: int
    version: str
    sequence: int
    changelog_offset: int
    row_count: int
    inputs: dict[str, InputState]
    rows: Rows


def part_of(directory: Directory, task: TaskState, query: RowsQuery) -> Part:
    """The task's part of an answer. Awaits nothing: position and rows are of one commit.

    A page needs no more than the task's own first `limit` + 1 rows: none behind is among the first of all.
    """
    view, state = query.view, task.views[query.view.name]
    if isinstance(view.window, Hopping):
        rows = page_windows(query, state, task.marker.views[view.name].expired_to_us)
    else:
        folded = merged(view, _page_rows(query, state), query.window_us, query.aligned_us)
        rows = page(view, folded, query.after, query.limit + 1, newest_first=query.newest_first)
    return Part(
        partition=task.partition,
        version=view.version,
        sequence=task.marker.sequence,
        changelog_offset=task.marker_offset,
        row_count=len(state),
        inputs={
            t.name: _input_state(directory, task, view, t.name)
            for t in query.view.source.topics
            if t.name in task.marker.inputs
        },
        rows=rows,
    )


def _page_rows(query: RowsQuery, state: ViewState) -> Rows:
    from_us, until_us = bounds_us(query)
    slots = state.find(from_us=from_us, until_us=until_us, groups=query.groups)
    windows = state.windows_at(slots)
    return state.rows_at(slots if windows is None else slots[page_panes(query, windows)])


def bounds_us(query: RowsQuery) -> tuple[int | None, int | None]:
    """Which panes to read: windows that start in `[from, to)`, whole, and not before the cursor's."""
    size, from_us, until_us, at = query.window_us, query.from_us, query.until_us, query.aligned_us
    if size is None:
        size = 1  # windows are what is stored: any that starts in between
    from_us = None if from_us is None else -(-(from_us - at) // size) * size + at
    until_us = None if until_us is None else -(-(until_us - at) // size) * size + at
    if query.after is not None and query.after.window_start_us is not None:
        if query.newest_first:
            last = query.after.window_start_us + size
            until_us = last if until_us is None else min(until_us, last)
        else:
            from_us = max(query.after.window_start_us, from_us or query.after.window_start_us)
    return from_us, until_us


def page_panes(query: RowsQuery, windows: Int64s) -> npt.NDArray[np.bool_]:
    """Which panes are enough for the query's page, so that a large table is not sorted for a few rows.

    A row is folded from one pane up to `panes_per_row`; the cursor's own window may lie before it as a whole.
    """
    window, size, at = query.view.window, query.window_us or 1, query.aligned_us
    panes_per_row = size // window.size_us if isinstance(window, Tumbling) else 1
    needed = (query.limit + 1) * panes_per_row
    if query.after is not None and query.after.window_start_us is not None:
        needed += int(np.count_nonzero((windows - at) // size * size + at == query.after.window_start_us))
    if needed >= len(windows):
        return np.ones(len(windows), bool)
    last = len(windows) - needed if query.newest_first else needed - 1
    bound = (np.partition(windows, last)[last] - at) // size * size + at
    return np.asarray(windows >= bound if query.newest_first else windows < bound + size)


def _input_state(directory: Directory, task: TaskState, view: View, topic: str) -> InputState:
    position = task.marker.inputs[topic]
    end = directory.log_end.get((topic, task.partition))
    lag = None if end is None else max(0, end - position.next_offset)
    known = task.marker.views.get(view.name)
    graces = known.graces.get(topic, ()) if known else ()
    now = graces[-1] if graces else GraceEpoch(position.start_offset, view.grace_seconds)
    closed_to_us = now.closed_to_us(position.watermark_us)
    return InputState(position.next_offset, position.watermark_us, lag, closed_to_us, position.skews, graces)


def encode_parts(parts: list[Part]) -> bytes:
    """Parts as one worker sends them to another: JSON, 64-bit integers as they are."""
    return orjson.dumps([_told(part) for part in parts], option=orjson.OPT_SERIALIZE_NUMPY)


def decode_parts(view: View, body: bytes) -> list[Part]:
    """Inverse of `encode_parts`; ValueError, KeyError or TypeError if it is something else."""
    return [_read(view, told) for told in orjson.loads(body)]


def _told(part: Part) -> dict[str, Any]:
    rows = part.rows
    return {
        "partition": part.partition,
        "version": part.version,
        "sequence": part.sequence,
        "changelog_offset": part.changelog_offset,
        "row_count": part.row_count,
        "inputs": part.inputs,
        "windows": rows.windows,
        "groups": [held.tolist() for held in rows.groups],
        "cells": np.ascontiguousarray(rows.cells),
    }


def _read(view: View, told: dict[str, Any]) -> Part:
    texts = [view.source.by_name[group.column].kind is Kind.TEXT for group in view.groups]
    windows = None if told["windows"] is None else np.array(told["windows"], np.int64)
    groups = [np.array(v, object if text else np.int64) for v, text in zip(told["groups"], texts, strict=True)]
    cells = np.array(told["cells"], np.int64).reshape(len(told["cells"]), len(view.cells))
    return Part(
        partition=told["partition"],
        version=told["version"],
        sequence=told["sequence"],
        changelog_offset=told["changelog_offset"],
        row_count=told["row_count"],
        inputs={topic: _read_input(**state) for topic, state in told["inputs"].items()},
        rows=Rows(windows, list(groups), cells),
    )


def _read_input(skews: list[dict[str, int]], graces: list[dict[str, int]], **told: Any) -> InputState:
    skew_epochs, grace_epochs = (SkewEpoch(**epoch) for epoch in skews), (GraceEpoch(**epoch) for epoch in graces)
    return InputState(**told, skews=tuple(skew_epochs), graces=tuple(grace_epochs))

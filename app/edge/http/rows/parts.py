"""A part: what one task gives to an answer, copied from one committed state, and its form between workers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import orjson

from app.codecs.arrays import Mask
from app.codecs.stored.marker import read_skew
from app.domain.event_time import NO_WATERMARK
from app.domain.rules.epochs import GraceEpoch, SkewEpoch
from app.domain.source import Kind
from app.domain.view import View
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.page_rows import reading_of
from app.edge.http.rows.reading import Reading
from app.engine.core.rows.state import Rows
from app.engine.core.task_state import TaskState
from app.engine.drive.ownership.directory import Directory


class InputState(NamedTuple):
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


class TaskRows(NamedTuple):
    """Rows of one task, merged and cut to the query's page, with the position they belong to. Windows that ended by
    `expired_to_us` have left its table. `stale_seconds`: what came since may be so old; None where nothing has come."""

    partition: int
    version: str
    sequence: int
    changelog_offset: int
    row_count: int
    inputs: dict[str, InputState]
    rows: Rows
    expired_to_us: int | None = None
    stale_seconds: float | None = None


def part_of(directory: Directory, task: TaskState, query: RowsQuery, reading: Reading | None = None) -> TaskRows:
    """The task's part of an answer. Awaits nothing: position and rows are of one commit.

    `reading`: the task's for this query, if it is known already.
    """
    state, more = task.views[query.view.name], 1
    reading = reading_of(query, task) if reading is None else reading
    while (rows := reading.fold(state.rows_at(reading.slots))) is None:
        more *= 4
        reading = reading_of(query, task, more)
    return part_with(directory, task, query.view, rows)


def part_with(directory: Directory, task: TaskState, view: View, rows: Rows) -> TaskRows:
    """The rows with the task's position of this moment."""
    return TaskRows(
        partition=task.partition,
        version=view.version,
        sequence=task.marker.sequence,
        changelog_offset=task.marker_offset,
        row_count=len(task.views[view.name]),
        inputs={
            t.name: _input_state(directory, task, view, t.name)
            for t in view.source.topics
            if t.name in task.marker.inputs
        },
        rows=rows,
        expired_to_us=task.marker.views[view.name].expired_to_us if view.name in task.marker.views else None,
    )


def _input_state(directory: Directory, task: TaskState, view: View, topic: str) -> InputState:
    position = task.marker.inputs[topic]
    lag = directory.lag_records(topic, task.partition, position)
    known = task.marker.views.get(view.name)
    graces = known.graces.get(topic, ()) if known else ()
    now = graces[-1] if graces else GraceEpoch(position.start_offset, view.grace_seconds)
    closed_to_us = now.closed_to_us(position.watermark_us)
    return InputState(position.next_offset, position.watermark_us, lag, closed_to_us, position.skews, graces)


def encode_parts(parts: list[TaskRows]) -> bytes:
    """Parts as one worker sends them to another: JSON, 64-bit integers as they are."""
    return orjson.dumps([_told(part) for part in parts], option=orjson.OPT_SERIALIZE_NUMPY)


def decode_parts(query: RowsQuery, body: bytes) -> list[TaskRows]:
    """Inverse of `encode_parts`, of a query's parts; ValueError, KeyError or TypeError if it is something else."""
    return read_parts(query, orjson.loads(body))


def read_parts(query: RowsQuery, documents: list[dict[str, Any]]) -> list[TaskRows]:
    """The same of what the body holds."""
    return [_read(query, told) for told in documents]


def _told(part: TaskRows) -> dict[str, Any]:
    rows = part.rows
    return {
        "partition": part.partition,
        "version": part.version,
        "sequence": part.sequence,
        "changelog_offset": part.changelog_offset,
        "row_count": part.row_count,
        "inputs": {topic: state._asdict() for topic, state in part.inputs.items()},
        "expired_to_us": part.expired_to_us,
        "stale_seconds": part.stale_seconds,
        "windows": rows.windows,
        "groups": [held.tolist() for held in rows.groups],
        "cells": np.ascontiguousarray(rows.cells),
        "corrected": None if rows.corrected is None else rows.corrected.tolist(),
    }


def _read(query: RowsQuery, told: dict[str, Any]) -> TaskRows:
    view = query.view
    texts = [view.source.by_name[group.column].kind is Kind.TEXT for group in query.arrangement.groups_of(view)]
    windows = None if told["windows"] is None else np.array(told["windows"], np.int64)
    groups = [np.array(v, object if text else np.int64) for v, text in zip(told["groups"], texts, strict=True)]
    cells = np.array(told["cells"], np.int64).reshape(len(told["cells"]), len(view.cells))
    return TaskRows(
        partition=told["partition"],
        version=told["version"],
        sequence=told["sequence"],
        changelog_offset=told["changelog_offset"],
        row_count=told["row_count"],
        inputs={topic: _read_input(**state) for topic, state in told["inputs"].items()},
        rows=Rows(windows, list(groups), cells, _marks(told.get("corrected"), len(cells))),
        expired_to_us=told.get("expired_to_us"),
        stale_seconds=told.get("stale_seconds"),
    )


def _marks(told: list[bool] | None, count: int) -> Mask | None:
    """Another worker of the release before tells of none."""
    return None if told is None else np.array(told, bool).reshape(count)


def _read_input(skews: list[dict[str, Any]], graces: list[dict[str, int]], **told: Any) -> InputState:
    skew_epochs, grace_epochs = map(read_skew, skews), (GraceEpoch(**epoch) for epoch in graces)
    return InputState(**told, skews=tuple(skew_epochs), graces=tuple(grace_epochs))

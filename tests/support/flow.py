"""The tables as workers and changelog hold them, in one shape that compares with the plain fold."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import httpx

from app.base.settings import Settings
from app.codecs.stored.changelog import ROW, decode_rows, kind_of, marker_key
from app.codecs.stored.export import read_export
from app.codecs.stored.marker import decode_marker
from app.codecs.stored.row_keys import decode_key, row_prefix
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.rides.ride import RIDES
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.truth import changelog_of, log_ends

ByTask = dict[tuple[int, RowKey], Cells]


def covers_all(settings: Settings, started: list[Worker]) -> bool:
    if not all(worker.is_ready() for worker in started):
        return False
    ends = log_ends(settings, RIDES)
    covered: dict[tuple[str, int], int] = {}
    for partition in range(settings.topics.partitions):
        marker = changelog_of(settings, RIDES, partition).get(marker_key(RIDES.number))
        if marker is None:
            return False
        covered |= {(t, partition): offset for t, offset in decode_marker(marker).next_offsets.items()}
    return all(covered.get(place, 0) >= end for place, end in ends.items())


def by_task(view: View, records: Sequence[Record]) -> ByTask:
    result = fold(view, records)
    return {(partition, key): cells for partition, rows in result.rows.items() for key, cells in rows.items()}


def in_changelog(settings: Settings, views: Sequence[View]) -> dict[str, ByTask]:
    """The stored rows of views of one group, by the view's name."""
    rows: dict[str, ByTask] = {view.name: {} for view in views}
    of_prefix = {row_prefix(view): view for view in views}
    for partition in range(settings.topics.partitions):
        for key, value in changelog_of(settings, views[0].source, partition).items():
            if value is None or kind_of(key) != ROW:
                continue
            for view in (view for prefix, view in of_prefix.items() if key.startswith(prefix)):
                cells = decode_rows([value], len(view.cells))[0]
                rows[view.name][partition, decode_key(view, key)] = tuple(int(c) for c in cells)
    return rows


def exported(view: View, started: list[Worker], partitions: int = 4) -> ByTask:
    rows: ByTask = {}
    for partition in range(partitions):
        rows |= exported_task(view, started, partition)
    return rows


def exported_task(view: View, started: list[Worker], partition: int) -> ByTask:
    """Rows of one task, of whichever of the workers has it: waits for one that answers."""
    answers: list[httpx.Response] = []

    def somebody_has_it() -> bool:
        with contextlib.suppress(httpx.HTTPError):
            answers[:] = [worker.get(f"/v1/views/{view.name}/export", partition=partition) for worker in started]
        return any(answer.is_success for answer in answers)

    wait_for(somebody_has_it, f"task {partition} of {view.name} is exported", started)
    _, table = read_export(next(answer.content for answer in answers if answer.is_success))
    groups = [table[group.name].to_pylist() for group in view.groups]
    windows = table["window_start_us"].to_pylist()
    cells = [table[name].to_pylist() for name in view.cells]
    rows: ByTask = {}
    for i, window in enumerate(windows):
        key = RowKey(window, tuple(column[i] for column in groups))
        rows[partition, key] = tuple(column[i] for column in cells)
    return rows

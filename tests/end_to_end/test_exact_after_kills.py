"""Tables are exact after kill -9: equal to a plain fold of the topics, in the workers and in the changelog."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from app.base.settings import Settings
from app.codecs.changelog import MARKER, ROW, decode_key, decode_rows, kind_of, row_prefix
from app.codecs.export import read_export
from app.codecs.marker import decode_marker
from app.domain.fold import Cells, RowKey
from app.domain.view import View
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from tests.support.cluster import fresh_topics, write_rides
from tests.support.truth import changelog_of, folded, log_ends, records_of
from tests.support.workers import Worker, wait_for, workers

pytestmark = pytest.mark.timeout(180)

SEED = 20_260_105


def test_two_workers_share_the_tasks_and_one_kill_minus_nine_changes_no_figure(
    services: Settings, tmp_path: Path
) -> None:
    fresh_topics(services)
    rng = random.Random(SEED)
    write_rides(services, 0, 4_000)
    with workers(services, tmp_path, 2) as started:
        for step in range(4):
            victim = rng.randrange(2)
            write_rides(services, 4_000 * (step + 1), 4_000)
            started[victim].kill()  # while the rides just written are under way
            survivor = started[1 - victim]
            wait_for(survivor.is_ready, "the other worker answers again", started)
            started[victim] = Worker(services, tmp_path / f"again-{step}.log")
            if step % 2:
                wait_for(started[victim].is_ready, "the new worker answers", started)
        wait_for(lambda: covers_all(services, started), "every ride is covered", started, seconds=90)
        records = records_of(services, RIDES)
        assert len(records) >= 20_000
        for view in VIEWS:
            _, expected = folded(view, records)
            assert exported(view, started) == by_task(view, records)
            assert in_changelog(services, view) == by_task(view, records)
            assert expected


def covers_all(settings: Settings, started: list[Worker]) -> bool:
    if not all(worker.is_ready() for worker in started):
        return False
    ends = log_ends(settings, RIDES)
    covered: dict[tuple[str, int], int] = {}
    for partition in range(settings.topics.partitions):
        marker = changelog_of(settings, RIDES, partition).get(b"\x01\x02\x00\x01")
        if marker is None:
            return False
        covered |= {(t, partition): offset for t, offset in decode_marker(marker).next_offsets.items()}
    return all(covered.get(place, 0) >= end for place, end in ends.items())


def by_task(view: View, records: list) -> dict[tuple[int, RowKey], Cells]:
    result, _ = folded(view, records)
    return {(partition, key): cells for partition, rows in result.rows.items() for key, cells in rows.items()}


def in_changelog(settings: Settings, view: View) -> dict[tuple[int, RowKey], Cells]:
    rows = {}
    for partition in range(settings.topics.partitions):
        for key, value in changelog_of(settings, RIDES, partition).items():
            if kind_of(key) == ROW and key.startswith(row_prefix(view)):
                cells = decode_rows([value], len(view.cells))[0]
                rows[partition, decode_key(view, key)] = tuple(int(c) for c in cells)
            else:
                assert kind_of(key) in (ROW, MARKER, 3)
    return rows


def exported(view: View, started: list[Worker]) -> dict[tuple[int, RowKey], Cells]:
    rows: dict[tuple[int, RowKey], Cells] = {}
    for partition in range(4):
        answer = started[0].get(f"/v1/views/{view.name}/export", partition=partition)
        if answer.is_redirect:
            answer = next(
                a
                for w in started
                if (a := w.get(f"/v1/views/{view.name}/export", partition=partition)).is_success
            )
        _, table = read_export(answer.content)
        groups = [table[group.name].to_pylist() for group in view.groups]
        windows = table["window_start_us"].to_pylist()
        cells = [table[name].to_pylist() for name in view.cells]
        for i, window in enumerate(windows):
            key = RowKey(window, tuple(column[i] for column in groups))
            rows[partition, key] = tuple(column[i] for column in cells)
    return rows

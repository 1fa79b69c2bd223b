"""A worker that takes tasks over: what it says and answers meanwhile, and what stays of tasks that move on."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
from confluent_kafka import Producer

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.domain.rows import Cells, RowKey
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.drills.faults.changelog_writer import layout_1_row, write
from tests.support.flow import ByTask, by_task, exported, exported_task
from tests.support.machine.asking import flush
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import covers, ready_worker, tasks_of, worker
from tests.support.truth import records_of

PANE_US, ZONES = 300_000_000, 250
FIRST_PANE_US = 2_000_000_000_000_000 // PANE_US * PANE_US
"""In 2033: no ride comes so far, and no window there closes."""


def test_a_task_that_is_whole_answers_while_another_is_read_and_readyz_tells_how_far(
    world: Settings, tmp_path: Path
) -> None:
    """A transaction that somebody has left open in its changelog holds task 0 up for as long as the test wants."""
    write_rides(world, 0, 2_000)
    with ready_worker(world, tmp_path, "before") as before:
        wait_for(lambda: covers(world, before), "every ride is covered", [before])
        before.kill()
    expected = by_task(ZONE_DEMAND, records_of(world, RIDES))
    rows = _rows([0], 30_000)
    _write(world, rows)
    with worker(world, tmp_path) as started:
        with _open_transaction(world, partition=0):
            wait_for(lambda: _group(started).get("tasks") == [1, 2, 3], "three tasks are whole", [started])
            wait_for(lambda: _progress(started)["done_offsets"] > len(rows), "the rows of task 0 are read", [started])
            assert started.get("/readyz").status_code == httpx.codes.SERVICE_UNAVAILABLE
            assert _group(started)["standing"] == "recovering"
            progress = _progress(started)
            assert progress["done_offsets"] < progress["all_offsets"]
            _assert_refused_but_for_ready_tasks(started, progress)
            for partition in (1, 2, 3):
                rows_of_task = {key: cells for key, cells in expected.items() if key[0] == partition}
                assert exported_task(ZONE_DEMAND, [started], partition) == rows_of_task
        wait_for(started.is_ready, "the worker answers for all tasks", [started])
        assert _group(started)["recovering"] == {}
        assert exported(ZONE_DEMAND, [started]) == expected | rows


def test_a_former_owner_answers_nothing_of_a_task_that_moved_on_and_gives_its_memory_back(
    world: Settings, tmp_path: Path
) -> None:
    rows = _rows(range(4), 60_000)
    _write(world, rows)
    row_bytes = 8 * (len(ZONE_DEMAND.cells) + 2)
    with ready_worker(world, tmp_path, "former") as former:
        assert tasks_of(former) == [0, 1, 2, 3]
        full_bytes = psutil.Process(former.process.pid).memory_info().rss
        with ready_worker(world, tmp_path, "newcomer") as newcomer:
            wait_for(lambda: len(tasks_of(former)) == len(tasks_of(newcomer)) == 2, "they share", [former, newcomer])
            half_bytes = len(rows) // 2 * row_bytes
            wait_for(
                lambda: full_bytes - psutil.Process(former.process.pid).memory_info().rss > half_bytes // 2,
                f"at least half of {half_bytes} bytes are given back",
                [former],
            )
            moved, kept = tasks_of(newcomer), tasks_of(former)
            for partition in moved:
                answer = former.get(f"/v1/views/{ZONE_DEMAND.name}/export", partition=partition)
                assert answer.status_code == httpx.codes.TEMPORARY_REDIRECT
                assert answer.headers["Location"].startswith(newcomer.url)
                parts = former.get(f"/v1/internal/views/{ZONE_DEMAND.name}/parts", partition=partition)
                assert (parts.status_code, parts.json()) == (httpx.codes.OK, [])
            assert _tasks_with_rows(former) == set(kept)
            assert exported(ZONE_DEMAND, [former, newcomer]) == rows


def _rows(partitions: Any, count: int) -> ByTask:
    """So many rows of each task, of windows that no ride reaches."""
    cells: Cells = (1, *ZONE_DEMAND.neutral[1:])
    return {
        (partition, RowKey(FIRST_PANE_US + i // ZONES * PANE_US, (i % ZONES + 1,))): cells
        for partition in partitions
        for i in range(count)
    }


def _write(world: Settings, rows: ByTask) -> None:
    changelog = names.changelog_topic(world.app_id, RIDES.name)
    write(world, changelog, ((p, *layout_1_row(ZONE_DEMAND, key, cells)) for (p, key), cells in rows.items()))


@contextlib.contextmanager
def _open_transaction(world: Settings, partition: int) -> Iterator[None]:
    """A record at the end of a changelog partition that is neither committed nor aborted until the block ends."""
    producer = Producer({**librdkafka_options(world.kafka), "transactional.id": f"{world.app_id}-stranger"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(names.changelog_topic(world.app_id, RIDES.name), b"", b"stranger", partition)
    flush(producer)
    try:
        yield
    finally:
        producer.abort_transaction()


def _group(started: Worker) -> dict[str, Any]:
    """What `/readyz` says of the rides' tasks; nothing before the worker listens."""
    with contextlib.suppress(httpx.HTTPError):
        told: dict[str, Any] = started.get("/readyz").json()["groups"][RIDES.name]
        return told
    return {}


def _progress(started: Worker) -> dict[str, int]:
    told: dict[str, int] = _group(started)["recovering"].get("0", {"done_offsets": 0, "all_offsets": 0})
    return told


def _assert_refused_but_for_ready_tasks(started: Worker, progress: dict[str, int]) -> None:
    path = f"/v1/views/{ZONE_DEMAND.name}/rows"
    refused = started.get(path)
    assert refused.status_code == httpx.codes.SERVICE_UNAVAILABLE
    (missing,) = refused.json()["missing"]
    assert missing["partition"] == 0
    assert f"{progress['done_offsets']} of {progress['all_offsets']} offsets of its changelog" in missing["why"]
    partial = started.get(path, partial="allow")
    assert partial.status_code == httpx.codes.OK
    assert [m["partition"] for m in partial.json()["meta"]["missing"]] == [0]
    assert partial.json()["data"]


def _tasks_with_rows(started: Worker) -> set[int]:
    """Tasks of which the metrics count rows of the view."""
    found = re.findall(r"^flagfall_view_rows\{(.*)\}", started.get("/metrics").text, re.MULTILINE)
    named = [dict(re.findall(r'(\w+)="(\w+)"', labels)) for labels in found]
    return {int(labels["partition"]) for labels in named if labels["view"] == ZONE_DEMAND.name}

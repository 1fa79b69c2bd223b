"""Two workers that share the tasks, of which one is killed: how soon the other answers for all, and the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from app.base.services import processes
from app.base.settings import Settings
from app.edge.local.ask import Worker, ask
from app.edge.local.workers import await_ready, start_workers
from benchmarks.stream.place import Cores
from benchmarks.take_over.answers import EVERYTHING, NEWEST, Document, answered, awaited, client_of, differences

VIEW = "/v1/views/zone_demand"
QUIET_SECONDS = 3.0
"""So long no task commits anything before the state counts as settled: closing and publishing follow the last ride."""


@dataclass(frozen=True)
class Pair:
    """Both on the last core, together; one of them is killed again and again."""

    settings: Settings
    cores: Cores
    owner_fd: int

    def complete(self) -> list[Worker]:
        """Both, each with its half of the tasks; whoever is missing is started."""
        with self.cores.starting():
            workers = start_workers(self.settings, self.owner_fd)
        await_ready(workers)
        half = self.settings.topics.partitions // len(workers)

        def shared() -> bool | None:
            return all(len(tasks_of(worker, worker)) == half for worker in workers) or None

        awaited(shared, f"each worker has {half} tasks")
        return workers

    def settled(self) -> list[Document]:
        """All tasks, once there is nothing left to read, to close or to publish."""
        worker, *_ = self.complete()
        return settled(worker)


def settled(worker: Worker) -> list[Document]:
    """All tasks as this worker tells of them, once there is nothing left to read, to close or to publish."""
    before, since = tasks_of(worker), time.monotonic()

    def look() -> list[Document] | None:
        nonlocal before, since
        now = tasks_of(worker)
        if now != before or any(lag for task in now for lag in task["lag_records"].values()):
            before, since = now, time.monotonic()
        return now if time.monotonic() - since > QUIET_SECONDS else None

    return awaited(look, "all is read, closed and published")


def tasks_of(worker: Worker, owner: Worker | None = None) -> list[Document]:
    """All tasks as a worker tells of them, or those of an owner."""
    tasks: Sequence[Document] = ask(worker.door, VIEW)["partitions"]
    return [task for task in tasks if owner is None or task["owner"] == owner.url]


def taken_over(survivor: Worker, victim: Worker) -> dict[str, Any]:
    """Kill one, and wait for the other's first answer over all tasks; both answers must say the same.

    `noticed_seconds`: until the group takes the dead worker's tasks away, and the survivor answers nothing for a
    while. Ends the benchmark with what differs.
    """
    lost = tasks_of(survivor, victim)
    with client_of(survivor) as client:
        page, rows = (_now(client, path) for path in (NEWEST, EVERYTHING))
        page_again, times = _killed(client, survivor, victim)
        told = [*differences(page, page_again), *differences(rows, _now(client, EVERYTHING))]
    if told:
        raise SystemExit("\n".join(["after the take-over rows or position are others than before:", *told[:10]]))
    return times | {
        "rows_taken_over": sum(task["rows"] for task in lost),
        "records_compared": sum(row["count"] for row in rows["data"]),
        "changelog_offsets": sum(task["changelog_offset"] + 1 for task in lost),
    }


def _killed(client: httpx.Client, survivor: Worker, victim: Worker) -> tuple[Document, dict[str, float]]:
    """The survivor's first answer for all tasks after the kill, and when it came."""
    process = processes.find(victim.pid_file)
    assert process is not None
    killed_at, not_ready_at = time.monotonic(), list[float]()
    process.kill()

    def look() -> Document | None:
        if not not_ready_at and answered(client, "/readyz") is None:
            not_ready_at.append(time.monotonic())
        return answered(client, NEWEST)

    page = awaited(look, f"{survivor.url} answers for all tasks; {survivor.log} says more")
    answered_at = time.monotonic()
    processes.forget(victim.pid_file)
    noticed_at = min([*not_ready_at, answered_at])
    return page, {
        "seconds": round(answered_at - killed_at, 2),
        "noticed_seconds": round(noticed_at - killed_at, 2),
    }


def _now(client: httpx.Client, path: str) -> Document:
    return awaited(lambda: answered(client, path), f"an answer to {path}")

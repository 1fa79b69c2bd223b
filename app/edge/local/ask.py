"""A worker's HTTP interface as the demo, `up` and `status` see it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.base.asking import UNAVAILABLE, Unanswered
from app.base.worker_door import WorkerDoor
from app.domain.errors import FlagfallError
from app.domain.records import TopicPartition

POLL_SECONDS = 0.2
REQUEST_SECONDS = 30.0
STALLED_SECONDS = 60.0


class WorkerSilent(FlagfallError):
    """A worker does not answer, answers with a problem, or makes no progress. Its log says why."""


@dataclass(frozen=True)
class Worker:
    """Where a worker answers, and where it leaves its traces."""

    door: WorkerDoor
    log: Path
    pid_file: Path

    @property
    def url(self) -> str:
        return self.door.url

    def is_ready(self) -> bool:
        """Asks once, and takes a moment over a no."""
        try:
            if self.door.get("/readyz", timeout_seconds=REQUEST_SECONDS).is_ok:
                return True
        except Unanswered:
            pass
        time.sleep(POLL_SECONDS)
        return False


def ask(worker: WorkerDoor, path: str, **parameters: str | int) -> dict[str, Any]:
    """The answer's document; waits while the worker says that it cannot answer yet. Raises WorkerSilent."""
    try:
        answer = worker.get(
            path,
            parameters,
            timeout_seconds=REQUEST_SECONDS,
            patience_seconds=STALLED_SECONDS,
            again_at=(UNAVAILABLE,),
        )
    except Unanswered as error:
        raise WorkerSilent(f"{error}; does a worker run?") from error
    if not answer.is_ok:
        raise WorkerSilent(f"{answer.where}: {answer.problem}")
    return answer.document()


def where_tasks_stand(worker: WorkerDoor, group: str) -> dict[str, Any]:
    """`position` and `watermark` of a group's tasks, by topic-partition. Raises WorkerSilent."""
    tasks = ask(worker, "/v1/tasks", group=group)["data"]
    told = ("position", "watermark")
    return {name: {at: value for task in tasks for at, value in task[name].items()} for name in told}


def await_position(
    worker: WorkerDoor,
    group: str,
    ends: Mapping[TopicPartition, int],
    tell: Callable[[int], Any] = lambda records: None,
) -> None:
    """Wait until the tasks of a group have read every offset below `ends`; `tell` hears the records read so far.

    Raises WorkerSilent when nothing moves for STALLED_SECONDS.
    """

    def covered(position: dict[str, int]) -> int:
        return sum(min(position.get(str(place), 0), end) for place, end in ends.items())

    wanted = sum(ends.values())

    def reached(stand: dict[str, Any]) -> tuple[bool, int]:
        so_far = covered(stand["position"])
        tell(so_far)
        return so_far >= wanted, so_far

    _await(worker, group, reached, f"the log's end ({wanted:,} records)")


def await_watermark(worker: WorkerDoor, group: str, places: Collection[TopicPartition], watermark_us: int) -> None:
    """Wait until the watermark of each place is at least that. Raises WorkerSilent."""

    def reached(stand: dict[str, Any]) -> tuple[bool, int]:
        marks = [_us(stand["watermark"].get(str(place))) for place in places]
        raised = sum(mark >= watermark_us for mark in marks)
        return raised == len(places), raised

    _await(worker, group, reached, f"the closing watermark in {len(places)} partitions")


def _await(worker: WorkerDoor, group: str, reached: Callable[[dict[str, Any]], tuple[bool, int]], what: str) -> None:
    best, moved_at = -1, time.monotonic()
    while True:
        done, so_far = reached(where_tasks_stand(worker, group))
        if done:
            return
        if so_far > best:
            best, moved_at = so_far, time.monotonic()
        if time.monotonic() - moved_at > STALLED_SECONDS:
            raise WorkerSilent(f"{worker.url}: {group} did not reach {what}: {so_far:,} since {STALLED_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def _us(instant: str | None) -> int:
    if instant is None:
        return -(1 << 63)
    return round(dt.datetime.fromisoformat(instant).timestamp() * 1_000_000)

"""A worker's HTTP interface as the demo, `up` and `status` see it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.base.asking import UNAVAILABLE, Unanswered, get
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

    host: str
    port: int
    log: Path
    pid_file: Path

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def is_ready(self) -> bool:
        """Asks once, and takes a moment over a no."""
        try:
            if get(f"{self.url}/readyz", timeout_seconds=REQUEST_SECONDS).is_ok:
                return True
        except Unanswered:
            pass
        time.sleep(POLL_SECONDS)
        return False


def ask(url: str, path: str, **parameters: str | int) -> dict[str, Any]:
    """The answer's document; waits while the worker says that it cannot answer yet. Raises WorkerSilent."""
    try:
        answer = get(
            f"{url}{path}",
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


def await_position(
    url: str, view: str, ends: Mapping[TopicPartition, int], tell: Callable[[int], Any] = lambda records: None
) -> dict[str, Any]:
    """Wait until the view covers every offset below `ends`; `tell` hears the records covered so far.

    Returns the answer's `meta`. Raises WorkerSilent when nothing moves for STALLED_SECONDS.
    """

    def covered(meta: dict[str, Any]) -> int:
        position = meta["position"]
        return sum(min(position.get(str(place), 0), end) for place, end in ends.items())

    wanted = sum(ends.values())

    def reached(meta: dict[str, Any]) -> tuple[bool, int]:
        so_far = covered(meta)
        tell(so_far)
        return so_far >= wanted, so_far

    return _await(url, view, reached, f"the log's end ({wanted:,} records)")


def await_watermark(url: str, view: str, places: Collection[TopicPartition], watermark_us: int) -> dict[str, Any]:
    """Wait until the watermark of each place is at least that; returns the answer's `meta`. Raises WorkerSilent."""

    def reached(meta: dict[str, Any]) -> tuple[bool, int]:
        marks = [_us(meta["watermark"].get(str(place))) for place in places]
        raised = sum(mark >= watermark_us for mark in marks)
        return raised == len(places), raised

    return _await(url, view, reached, f"the closing watermark in {len(places)} partitions")


def _await(url: str, view: str, reached: Callable[[dict[str, Any]], tuple[bool, int]], what: str) -> dict[str, Any]:
    best, moved_at = -1, time.monotonic()
    while True:
        meta: dict[str, Any] = ask(url, f"/v1/views/{view}/rows", limit=1)["meta"]
        done, so_far = reached(meta)
        if done:
            return meta
        if so_far > best:
            best, moved_at = so_far, time.monotonic()
        if time.monotonic() - moved_at > STALLED_SECONDS:
            raise WorkerSilent(f"{url}: {view} did not reach {what}: {so_far:,} since {STALLED_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)


def _us(instant: str | None) -> int:
    if instant is None:
        return -(1 << 63)
    return round(dt.datetime.fromisoformat(instant).timestamp() * 1_000_000)

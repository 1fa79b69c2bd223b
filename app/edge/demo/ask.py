"""A worker's HTTP interface as the demo, `up` and `status` see it."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

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
            if httpx.get(f"{self.url}/readyz", timeout=REQUEST_SECONDS, trust_env=False).status_code == httpx.codes.OK:
                return True
        except httpx.TransportError:
            pass
        time.sleep(POLL_SECONDS)
        return False


def ask(url: str, path: str, **parameters: str | int) -> dict[str, Any]:
    """The answer's document; waits while the worker says that it cannot answer yet. Raises WorkerSilent."""
    deadline = time.monotonic() + STALLED_SECONDS
    while True:
        try:
            answer = httpx.get(f"{url}{path}", params=parameters, timeout=REQUEST_SECONDS, trust_env=False)
        except httpx.TransportError as error:
            raise WorkerSilent(f"{url}{path}: {error}; does a worker run?") from error
        if answer.status_code == httpx.codes.OK:
            document: dict[str, Any] = answer.json()
            return document
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
            raise WorkerSilent(f"{answer.url}: {answer.status_code}: {_problem(answer)}")
        time.sleep(POLL_SECONDS)


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


def _problem(answer: httpx.Response) -> str:
    try:
        document = answer.json()
        return f"{document['title']}: {document.get('detail', '')}"
    except (ValueError, KeyError):
        return answer.text[:200]

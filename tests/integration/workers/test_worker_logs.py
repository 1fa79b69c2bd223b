"""A worker's log for programs: each line an object, of whichever library it is, and a refusal under its trace."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import httpx

from app.base.settings import Settings
from app.base.traces import HEADER
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import FLAGFALL, Worker
from tests.support.machine.world import ends_in_words, ready_worker

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()]


def test_every_line_of_a_worker_is_json_from_its_start_to_its_end(world: Settings, tmp_path: Path) -> None:
    """At debug Faust and aiokafka tell each step; in Python's development mode asyncio and warnings speak too."""
    loud = {"FLAGFALL_LOG_FORMAT": "json", "PYTHONDEVMODE": "1", "PYTHONWARNINGS": "default"}
    log = tmp_path / "worker.log"
    started = Worker(world, log, loud, command=[FLAGFALL, "worker", "--log-level", "debug"])
    try:
        wait_for(started.is_ready, "the worker answers", [started])
        assert _refused(started)["trace_id"] == TRACE
        assert started.stop() == 0
    finally:
        started.send(signal.SIGKILL)
        started.process.wait()
    lines = _lines(log)
    assert {"app", "faust", "mode", "aiokafka", "asyncio"} <= {line["logger"].partition(".")[0] for line in lines}
    assert {line["worker"] for line in lines if "worker" in line} == {started.url}
    (refusal,) = [line for line in lines if line.get("problem") == "not-reached"]
    assert (refusal["level"], refusal["status"], refusal["trace_id"]) == ("INFO", 503, TRACE)
    assert refusal["route"] == "/v1/views/{view}/rows"


def test_a_worker_that_cannot_start_says_so_in_json(world: Settings, tmp_path: Path) -> None:
    with ready_worker(world, tmp_path) as started:
        taken = {"FLAGFALL_WORKER_HTTP_PORT": started.port, "FLAGFALL_LOG_FORMAT": "json"}
        ended = ends_in_words(world, **taken)
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 1
    (error,) = [line["message"] for line in told if line["level"] == "ERROR"]
    assert error.startswith(f"port {started.port} ")


def _refused(started: Worker) -> dict[str, Any]:
    """By a worker that waits for what nobody writes."""
    where = {"min_position": f"{RIDES.topics[0].name}-0:{1 << 40}", "wait": "1s"}
    traced = {HEADER: f"00-{TRACE}-00f067aa0ba902b7-01"}
    answer = httpx.get(
        f"{started.url}/v1/views/{ZONE_DEMAND.name}/rows", params=where, headers=traced, timeout=patient(30)
    )
    assert answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
    found: dict[str, Any] = answer.json()
    return found

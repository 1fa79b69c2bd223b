"""A worker that has input and gets nowhere says so, and why, and ends; told to stop it ends whoever is silent."""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.base.services import kafka, registry
from app.base.settings import Settings
from app.engine.drive.ending import ExitCode
from app.engine.drive.watch.progress import IN_WORDS, Cause
from tests.support.machine.closing import at_rest
from tests.support.machine.cluster import write_rides
from tests.support.machine.services import frozen, running_services
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_exact, covers, own_world, ready_worker, worker

SHORT = {"FLAGFALL_WORKER_STALLED_SECONDS": patient(2), "FLAGFALL_WORKER_STALLED_EXIT_SECONDS": patient(6)}
NEVER = {"FLAGFALL_WORKER_STALLED_SECONDS": patient(2), "FLAGFALL_WORKER_STALLED_EXIT_SECONDS": 0}
STOP_SECONDS = patient(4)
STOPS = {"FLAGFALL_WORKER_STOP_TIMEOUT_SECONDS": STOP_SECONDS}


@pytest.mark.parametrize("cause", ["fetch", "write"])
def test_a_worker_that_gets_nowhere_says_why_and_ends_to_be_started_again(
    cause: str, world: Settings, tmp_path: Path
) -> None:
    stall = tmp_path / "stall"
    told = {"fetch": Cause.NOT_FETCHED, "write": Cause.WRITING}[cause]
    with _stalling(world, tmp_path, stall) as started:
        stall.write_text(cause)
        write_rides(world, 600, 600)
        wait_for(lambda: _livez(started) == 503, "it says that it is not alive", [started])
        problem = started.get("/livez").json()
        assert (problem["type"], problem["group"]) == ("urn:flagfall:problem:stalled", "rides")
        assert problem["cause"] == told
        assert f'flagfall_stalled_seconds{{cause="{told}",group="rides"}}' in started.get("/metrics").text
        assert started.ended() == ExitCode.STALLED
    words = started.log.read_text()
    said = re.findall(rf"no progress for \d+ s: {re.escape(IN_WORDS[told])}.*", words)
    *before, last = ("the worker ends to be started again" in line for line in said)
    assert (set(before), last) == ({False}, True), said  # said before it ended, and as it ended
    with ready_worker(world, tmp_path, "again") as again:
        wait_for(lambda: covers(world, again), "every ride is covered", [again])
        assert_exact(world, [again])


def test_a_held_loop_is_shown_with_its_stack_and_ends_the_worker(world: Settings, tmp_path: Path) -> None:
    stall = tmp_path / "stall"
    with _stalling(world, tmp_path, stall) as started:
        stall.write_text("loop")
        write_rides(world, 600, 600)
        assert started.ended() == ExitCode.STALLED
    words = started.log.read_text()
    assert re.search(r"the event loop has been held for \d+\.", words)
    assert "time.sleep(LOOK_SECONDS)" in words
    assert "The process ends with exit code 75" in words


def test_silent_services_are_told_apart(tmp_path: Path) -> None:
    """A registry that is waited for, then a broker that answers nobody, who still holds every connection."""
    with running_services(tmp_path / "services") as settings:
        own_world(settings)
        write_rides(settings, 0, 600)
        with frozen(settings, registry.NAME), worker(settings, tmp_path, "waiting", **NEVER) as waiting:
            wait_for(waiting.is_ready, "the worker answers", [waiting])
            said = 'flagfall_stalled_seconds{cause="registry",group="rides"}'
            wait_for(lambda: said in waiting.get("/metrics").text, "it waits for the registry", [waiting])
            wait_for(
                lambda: "the registry has not told of all of them" in waiting.log.read_text(), "and says so", [waiting]
            )
            assert _livez(waiting) == 200
            waiting.send(signal.SIGTERM)
            assert waiting.ended() == ExitCode.CLEAN
        with (
            ready_worker(settings, tmp_path, "ends", **SHORT) as ends,
            ready_worker(settings, tmp_path, "stays", **NEVER, **STOPS) as stays,
        ):
            both = [ends, stays]
            wait_for(lambda: covers(settings, ends) and covers(settings, stays), "all is covered", both)
            wait_for(lambda: at_rest(settings), "nothing is under way", both)
            with frozen(settings, kafka.NAME):
                wait_for(lambda: _livez(stays) == 503, "it says that it is not alive", [stays])
                assert stays.get("/livez").json()["cause"] == "broker_silent"
                assert ends.ended() == ExitCode.STALLED
                assert "no broker answers" in ends.log.read_text()
                stays.send(signal.SIGTERM)
                assert stays.ended() == ExitCode.BROKEN_OFF
                assert f"did not stop within {STOP_SECONDS:g} s; what it waits for:" in stays.log.read_text()
        with ready_worker(settings, tmp_path, "again") as again:
            wait_for(lambda: covers(settings, again), "every ride is covered", [again])
            assert_exact(settings, [again])


@contextlib.contextmanager
def _stalling(world: Settings, folder: Path, stall: Path) -> Iterator[Worker]:
    """A worker that has covered 600 rides and will stop getting on when the file is written."""
    write_rides(world, 0, 600)
    variables = {key: str(value) for key, value in SHORT.items()} | {"FLAGFALL_TEST_STALL_FILE": str(stall)}
    started = Worker(world, folder / "stalling.log", variables, application="tests.support.apps.stalling")
    try:
        wait_for(lambda: covers(world, started), "every ride is covered", [started])
        yield started
    finally:
        started.kill()


def _livez(started: Worker) -> int | None:
    with contextlib.suppress(httpx.HTTPError):
        return started.get("/livez").status_code
    return None

"""The process of a statement: how it is bounded, and what is said of its end."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import uvloop

from app.edge.sql import child
from app.edge.sql.process import StatementAsked, StatementLost, StatementRefused, statement
from app.rides.views import ZONE_DEMAND
from tests.support.http import server_of
from tests.support.machine.waiting import wait_for
from tests.support.material.stored.tables import ready_directory, task_of

ASKED = StatementAsked("SELECT 1", [], "json", memory_mb=64, most_rows=1, most_bytes=1_000, seconds=600)

ENDLESS = "SELECT count(*) FROM range(1_000_000_000_000)"


def own_children() -> list[psutil.Process]:
    """The processes of statements that are asked here."""
    return [one for one in psutil.Process().children() if "app.edge.sql.child" in one.cmdline()]


def own_child() -> psutil.Process:
    """Where there is one."""
    (found,) = own_children()
    return found


def runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


async def test_a_statement_ends_with_a_worker_that_was_killed() -> None:
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.apps.endless_statement", stdout=asyncio.subprocess.PIPE
    )
    assert worker.stdout is not None
    of_statement = psutil.Process(int(await worker.stdout.readline()))
    try:
        worker.kill()
        await worker.wait()
        await asyncio.to_thread(wait_for, lambda: not runs(of_statement), "the statement's process ends")
    finally:
        with suppress(psutil.NoSuchProcess):
            of_statement.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone lets a process renounce new privileges")
async def test_what_a_statement_might_start_has_no_more_rights_than_it() -> None:
    async with statement(ASKED) as process:
        await process.tables()
        assert "NoNewPrivs:\t1" in Path(f"/proc/{own_child().pid}/status").read_text()


def test_a_statement_has_no_file_of_its_workers_but_those_by_which_it_is_asked() -> None:
    """Workers run on uvloop, which lets a process have what stands under numbers that nobody says."""

    async def asked() -> None:
        async with statement(ASKED) as process:
            await process.tables()
            assert own_child().num_fds() == 3

    ends = os.pipe()
    try:
        for end in ends:
            os.set_inheritable(end, True)
        uvloop.run(asked())
    finally:
        for end in ends:
            os.close(end)


async def test_a_process_that_was_ended_from_outside_is_not_called_greedy() -> None:
    async with statement(ASKED) as process:
        own_child().kill()
        with pytest.raises(StatementLost, match="ended by SIGKILL, from outside"):
            await process.tables()


async def test_a_statement_that_was_ended_from_outside_may_be_asked_again_and_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with server_of(tmp_path) as start:
        client = await start(ready_directory([task_of(0, {ZONE_DEMAND: {}})]))
        asking = asyncio.create_task(client.post("/v1/sql", json={"sql": ENDLESS}))
        await asyncio.to_thread(wait_for, own_children, "the statement's process begins")
        own_child().kill()
        response = await asking
        problem = await response.json(content_type=None)
    assert (response.status, problem["type"]) == (503, "urn:flagfall:problem:statement-ended")
    assert problem["retryable"]
    assert response.headers["Retry-After"]
    (line,) = (one for one in caplog.records if problem["trace_id"] in one.getMessage())
    assert (line.levelno, "SIGKILL, from outside" in line.getMessage()) == (logging.WARNING, True)


async def test_a_process_that_breaks_down_is_said_to_have_taken_too_much() -> None:
    async with statement(ASKED) as process:
        own_child().send_signal(signal.SIGSEGV)
        with pytest.raises(StatementRefused, match=r"^it broke down, .* more than 64 MB .*SIGSEGV\)$"):
            await process.tables()


async def test_a_process_that_took_too_long_on_a_processor_is_said_to() -> None:
    async with statement(ASKED) as process:
        own_child().send_signal(signal.SIGXCPU)
        with pytest.raises(StatementRefused, match="it took more than 600 s of a processor"):
            await process.tables()


def test_memory_is_bounded_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: dict[int, tuple[int, int]] = {}

    def absent(path: Path, *_: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", absent)
    monkeypatch.setattr(child.resource, "setrlimit", lambda what, ends: set_to.update({what: ends}))
    child._bound(64, 2)
    assert set_to[resource.RLIMIT_AS][1] > (64 + child.ROOM_MB) * child.MB
    told_at, killed_at = set_to[resource.RLIMIT_CPU]
    assert told_at < killed_at, "at a hard bound Linux kills at once, which would look as if it came from outside"

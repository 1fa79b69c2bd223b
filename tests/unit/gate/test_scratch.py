"""What a run of tests leaves goes with its scratch folder: files and processes, however the run ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from scripts.gate import scratch
from scripts.gate.scratch import end_all, left_running
from tests.support.machine.waiting import wait_for

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no other system shows what a process has inherited")

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a process that sleeps, in a session of its own, with these variables."""
    started: list[subprocess.Popen[bytes]] = []

    def _start(**variables: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"], env=os.environ | variables, start_new_session=True))
        pid = started[-1].pid
        wait_for(lambda: psutil.Process(pid).name() == "sleep", "it has begun")
        return started[-1]

    yield _start
    for process in started:
        process.kill()
        process.wait()


def test_what_a_run_has_started_is_known_by_where_its_temporary_files_go(start: Start, tmp_path: Path) -> None:
    ours = [start(TMPDIR=f"{tmp_path}/tmp"), start(TMPDIR=f"{tmp_path}/tmp/of-a-run-in-it/tmp")]
    assert [line.split() for line in left_running(tmp_path)] == [[str(p.pid), "sleep", "600"] for p in ours]


def test_processes_that_others_started_are_left_alone(start: Start, tmp_path: Path) -> None:
    looks_on = start(PWD=f"{tmp_path}/tmp")
    namesake = start(TMPDIR=f"{tmp_path}2/tmp")
    end_all(tmp_path)
    assert [looks_on.poll(), namesake.poll()] == [None, None]


def test_what_is_stopped_is_ended_too(start: Start, tmp_path: Path) -> None:
    stopped = start(TMPDIR=f"{tmp_path}/tmp")
    stopped.send_signal(signal.SIGSTOP)
    end_all(tmp_path)
    assert stopped.wait() == -signal.SIGKILL
    assert left_running(tmp_path) == []


def test_a_process_amidst_its_start_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = _amidst_its_start(tmp_path / "proc/17")

    def started_meanwhile(_: float) -> None:
        (process / "environ").write_bytes(f"HOME=/\0TMPDIR={tmp_path}/tmp\0".encode())
        (process / "cmdline").write_bytes(b"sleep\x00600\0")
        (process / "stat").write_text(_stat(start_of_code=4096))

    monkeypatch.setattr(scratch, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(time, "sleep", started_meanwhile)
    assert left_running(tmp_path) == ["17 sleep 600"]


def test_a_process_that_never_shows_its_start_holds_nothing_up_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _amidst_its_start(tmp_path / "proc/17")
    monkeypatch.setattr(scratch, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(scratch, "BEGIN_SECONDS", 0.0)
    assert left_running(tmp_path) == []


def _amidst_its_start(process: Path) -> Path:
    """What the system shows of a process between its program's loading and its variables' being laid out."""
    process.mkdir(parents=True)
    (process / "exe").symlink_to("/bin/sleep")
    (process / "cmdline").touch()
    (process / "environ").touch()
    (process / "stat").write_text(_stat(start_of_code=0))
    return process


def _stat(start_of_code: int) -> str:
    return f"17 (a name) with) S {'1 ' * 22}{start_of_code} 0 0\n"

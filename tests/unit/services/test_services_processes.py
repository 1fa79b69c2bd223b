"""Starting, finding and stopping, with a small real process in place of a broker."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.base.services import keeper, processes
from app.base.services.errors import PortInUse, StartFailed
from app.base.services.processes import Daemon, Deaths
from tests.support.machine.waiting import wait_for

SLEEPER = "import signal; print('up', flush=True); signal.pause()"
DEAF = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True:
    signal.pause()
"""
OWNER = """
import os, sys
from pathlib import Path
from app.base.services import processes
folder, program = Path(sys.argv[1]), sys.argv[2]
read_fd, write_fd = os.pipe()
command = (sys.executable, '-c', program)
daemon = processes.Daemon('kept', command, folder / 'kept.log', folder / 'kept.json', {})
process = processes.start(daemon, 0.5, read_fd)
print(process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    made = make(tmp_path, SLEEPER)
    yield made
    processes.stop(made.pid_file, 5)


def make(folder: Path, program: str, **ports: int) -> Daemon:
    command = (sys.executable, "-c", program)
    return Daemon("sleeper", command, folder / "logs" / "sleeper.log", folder / "sleeper.pid.json", ports)


def deaths_of(daemon: Daemon) -> Deaths:
    found = processes.deaths(daemon.pid_file)
    assert found is not None
    return found


def says_up(daemon: Daemon) -> bool:
    return "up" in daemon.log.read_text()


def test_a_started_process_is_found_and_stopped(daemon: Daemon) -> None:
    process = processes.start(daemon, 5)
    assert processes.find(daemon.pid_file) == process
    assert os.getsid(process.pid) != os.getsid(0)
    assert processes.stop(daemon.pid_file, 5)
    assert not process.is_running()
    assert not daemon.pid_file.exists()
    assert not processes.stop(daemon.pid_file, 5)


def test_a_process_is_recorded_once_its_command_line_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [["sleep", "60"], [], []]
    monkeypatch.setattr(psutil.Process, "cmdline", lambda _: looks.pop())
    service = keeper.begin(["sleep", "60"], tmp_path / "kept.json", {})
    service.kill()
    service.wait()
    assert not looks


def test_a_process_that_ends_at_once_is_not_waited_for(tmp_path: Path) -> None:
    service = keeper.begin(["true"], tmp_path / "kept.json", {})
    assert service.wait() == 0


def test_a_process_that_ignores_term_is_killed(tmp_path: Path) -> None:
    deaf = make(tmp_path, DEAF)
    process = processes.start(deaf, 5)
    processes.await_answer(deaf, process, lambda: says_up(deaf), deadline=float("inf"))
    assert processes.stop(deaf.pid_file, 0.2)
    assert not process.is_running()


def test_a_recycled_pid_is_never_signalled(daemon: Daemon) -> None:
    """The recorded pid belongs to somebody else by now: to us, whom a TERM would end."""
    processes.start(daemon, 5)
    record = json.loads(daemon.pid_file.read_text())
    mine = psutil.Process()
    processes.stop(daemon.pid_file, 5)
    daemon.pid_file.write_text(json.dumps(record | {"pid": mine.pid}))
    assert processes.find(daemon.pid_file) is None
    daemon.pid_file.write_text(json.dumps(record | {"pid": mine.pid, "started": mine.create_time()}))
    assert processes.find(daemon.pid_file) is None
    assert not processes.stop(daemon.pid_file, 5)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x", "started": 0, "command": []}'])
def test_a_damaged_record_is_no_process(tmp_path: Path, content: str) -> None:
    pid_file = tmp_path / "pid.json"
    pid_file.write_text(content)
    assert processes.find(pid_file) is None


def test_a_killed_process_is_stale(daemon: Daemon) -> None:
    process = processes.start(daemon, 5)
    process.kill()
    process.wait(60)
    assert processes.find(daemon.pid_file) is None
    assert daemon.pid_file.exists()


def test_a_port_in_use_is_named_with_its_holder_and_variable(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(PortInUse) as refused:
            processes.start(make(tmp_path, SLEEPER, kafka_port=port), 5)
    for part in (str(port), f"pid {os.getpid()}", "FLAGFALL_SERVICES_KAFKA_PORT"):
        assert part in str(refused.value)


def test_a_service_that_ends_shows_its_log(tmp_path: Path) -> None:
    failing = make(tmp_path, "import sys; sys.exit('no space left')")
    with pytest.raises(StartFailed, match="no space left"):  # by whichever of the two is there to see it
        processes.await_answer(failing, processes.start(failing, 5), lambda: False, deadline=float("inf"))


def test_a_program_that_is_not_there_shows_the_reason(tmp_path: Path) -> None:
    absent = Daemon("absent", (str(tmp_path / "java"),), tmp_path / "a.log", tmp_path / "a.json", {})
    with pytest.raises(StartFailed, match="No such file"):
        processes.start(absent, 5)


def test_a_silent_service_names_the_variable_for_slow_machines(daemon: Daemon) -> None:
    process = processes.start(daemon, 5)
    with pytest.raises(StartFailed, match="FLAGFALL_SERVICES_START_TIMEOUT_SECONDS"):
        processes.await_answer(daemon, process, lambda: False, deadline=0)


@pytest.mark.parametrize("program", [SLEEPER, DEAF])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_an_owned_process_dies_with_its_owner(tmp_path: Path, how: signal.Signals, program: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    ) as owner:
        assert owner.stdout is not None
        kept = psutil.Process(int(owner.stdout.readline()))
        keeper = psutil.Process(json.loads((tmp_path / "kept.json").read_text())["keeper"])
        owner.send_signal(how)
        owner.wait(60)
    assert psutil.wait_procs([kept, keeper], timeout=60)[1] == []
    assert not (tmp_path / "kept.json").exists()


def test_released_processes_outlive_their_owner(tmp_path: Path) -> None:
    """Two on one pipe: each must find its own byte."""
    program = (
        OWNER.replace("sys.stdin.read()", "")
        + f"""
command = (sys.executable, '-c', {SLEEPER!r})
other = processes.Daemon('other', command, folder / 'other.log', folder / 'other.json', {{}})
print(processes.start(other, 0.5, read_fd).pid, flush=True)
processes.release(write_fd, 2)
"""
    )
    told = subprocess.run(
        [sys.executable, "-c", program, tmp_path, SLEEPER], capture_output=True, text=True, check=True
    )
    kept = [psutil.Process(int(pid)) for pid in told.stdout.split()]
    _, alive = psutil.wait_procs(kept, timeout=1)
    assert len(alive) == 2
    for name in ("kept.json", "other.json"):
        assert processes.stop(tmp_path / name, 5)
    gone, _ = psutil.wait_procs(kept, timeout=60)
    assert len(gone) == 2


def test_a_process_that_dies_is_started_again_and_it_is_told_how_often_and_when(tmp_path: Path) -> None:
    """The first life ends by KILL, as the machine's memory ran out; the second goes on."""
    kept = make(tmp_path, SLEEPER)
    try:
        first = processes.start(kept, 5, restarts=1)
        assert processes.deaths(kept.pid_file) is None
        before = time.time()
        first.kill()
        wait_for(lambda: processes.find(kept.pid_file) not in {None, first}, "the second life")
        died = deaths_of(kept)
        assert (died.restarts, died.code, died.is_kept) == (1, -signal.SIGKILL, True)
        assert before <= died.at <= time.time()
        assert f"process {first.pid} ended by itself with code -9; start 1 of 1 follows" in kept.log.read_text()
    finally:
        assert processes.stop(kept.pid_file, 5)
    assert processes.find(kept.pid_file) is None
    assert not kept.pid_file.exists()


def start_doomed(tmp_path: Path, restarts: int) -> Daemon:
    """It ends with 3 as soon as its start was seen, and each time after."""
    seen = tmp_path / "seen"
    program = f"""
import pathlib, sys, time
while not pathlib.Path({str(seen)!r}).exists():
    time.sleep(0.01)
sys.exit(3)
"""
    doomed = make(tmp_path, program)
    processes.start(doomed, 5, restarts=restarts)
    seen.touch()
    return doomed


def test_a_process_that_cannot_live_is_given_up(tmp_path: Path) -> None:
    doomed = start_doomed(tmp_path, restarts=2)
    wait_for(lambda: "not started again" in doomed.log.read_text(), "the keeper's last word")
    wait_for(lambda: not deaths_of(doomed).is_kept, "the keeper's end")
    died = deaths_of(doomed)
    assert (died.restarts, died.code, died.is_kept) == (2, 3, False)
    assert not processes.stop(doomed.pid_file, 5)
    assert not doomed.pid_file.exists()


def test_one_that_waits_to_be_started_again_can_be_stopped(tmp_path: Path) -> None:
    """Nothing is left that could start it."""
    doomed = start_doomed(tmp_path, restarts=9)
    wait_for(lambda: "start 2 of 9 follows" in doomed.log.read_text(), "the second pause")
    keeper = psutil.Process(json.loads(doomed.pid_file.read_text())["keeper"])
    assert processes.stop(doomed.pid_file, 5)
    assert not keeper.is_running()
    assert not doomed.pid_file.exists()

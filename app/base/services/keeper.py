"""The parent of one service: starts it, records it, starts it again if it dies, and ends it when its owner is gone.

Run as a program by :mod:`app.base.services.processes`, never imported. It leaves its starter's session, so
that an interrupt at the terminal does not reach the service. With an owner, it holds the reading end of a
pipe whose writing end only the owner has: however the owner ends, KILL included, the pipe closes, and the
service is stopped. That also covers an owner that dies while all this is being set up, because the pipe is
there before the service. An owner that wants its services to stay writes one byte for each keeper.

    keeper.py OWNER_FD PID_FILE GRACE_SECONDS RESTARTS COMMAND...        OWNER_FD -1: no owner

A service that ends before its keeper is told to stop it died. It is started again up to RESTARTS times in a row,
after pauses that double; one that ran for long begins a new row. PID_FILE and the log tell how often, and when.

Exits 0 once the service runs and PID_FILE is written; the keeper itself stays behind in the background.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep, time

import psutil

FIRST_PAUSE_SECONDS = 0.5
LOOK_SECONDS = 0.001
STEADY_SECONDS = 600.0
"""Whoever ran so long had no fault in its start: its end begins a new row."""


def main(owner_fd: int, pid_file: Path, grace_seconds: float, restarts: int, command: list[str]) -> int:
    """Fork: the first process waits for the news of the second, which is the keeper."""
    news, tell = os.pipe()
    if os.fork():
        os.close(tell)
        return 0 if os.read(news, 1) else 1
    os.close(news)
    os.setsid()
    orders = Orders.heard(owner_fd)
    service = begin(command, pid_file, {"restarts": 0, "died_at": None, "died_with": None})
    os.write(tell, b"1")
    os.close(tell)
    if (last := keep(service, command, orders, pid_file, restarts)) is not None:
        stop(last, grace_seconds)
        pid_file.unlink(missing_ok=True)
    return 0


def keep(
    service: subprocess.Popen[bytes], command: list[str], orders: Orders, pid_file: Path, restarts: int
) -> subprocess.Popen[bytes] | None:
    """Until it is told to stop the service, which it returns, or has started it `restarts` times in a row."""
    in_a_row, in_all = 0, 0
    while True:
        began = monotonic()
        if orders.stop_before_the_end_of(service):
            return service
        in_a_row = 1 if monotonic() - began >= STEADY_SECONDS else in_a_row + 1
        died = f"keeper: process {service.pid} ended by itself with code {service.returncode}"
        death = {"died_at": time(), "died_with": service.returncode}
        record(pid_file, service.pid, command, death | {"restarts": in_all})
        if in_a_row > restarts:
            print(f"{died}; it is not started again" if restarts else died, flush=True)
            return None
        pause_seconds = FIRST_PAUSE_SECONDS * 2 ** (in_a_row - 1)
        print(f"{died}; start {in_a_row} of {restarts} follows in {pause_seconds:g} s", flush=True)
        if orders.stop_within(pause_seconds):
            return service
        in_all += 1
        service = begin(command, pid_file, death | {"restarts": in_all})


def begin(command: list[str], pid_file: Path, told: dict[str, object]) -> subprocess.Popen[bytes]:
    service = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    await_command(service.pid)
    record(pid_file, service.pid, command, told)
    return service


def await_command(pid: int) -> None:
    """Wait until the kernel tells the process's command line, or it is gone.

    Popen returns within execve(), before the new command line is there: a process that has none yet would not be taken
    for the recorded one. Where processors are scarce that was seen to last for 0.2 s.
    """
    with contextlib.suppress(psutil.NoSuchProcess):
        while not psutil.Process(pid).cmdline():
            sleep(LOOK_SECONDS)


def record(pid_file: Path, pid: int, command: list[str], told: dict[str, object]) -> None:
    """By rename, so that no reader sees half of it."""
    known = {
        "pid": pid,
        "started": started(pid),
        "command": command,
        "keeper": os.getpid(),
        "keeper_started": psutil.Process().create_time(),
        **told,
    }
    draft = pid_file.with_suffix(".draft")
    draft.write_text(json.dumps(known))
    draft.replace(pid_file)


def started(pid: int) -> float:
    """When a process began, 0 for one that is gone, so that nobody takes the next with its number for it."""
    try:
        return psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        return 0.0


@dataclass
class Orders:
    """What wakes the keeper: TERM, its owner's end, its service's end."""

    selector: selectors.BaseSelector
    owner_fd: int
    wake_fd: int

    @classmethod
    def heard(cls, owner_fd: int) -> Orders:
        """From now on; nothing that comes between two waits is lost."""
        wake, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        selector = selectors.DefaultSelector()
        selector.register(wake, selectors.EVENT_READ)
        if owner_fd >= 0:
            selector.register(owner_fd, selectors.EVENT_READ)
        return cls(selector, owner_fd, wake)

    def stop_before_the_end_of(self, service: subprocess.Popen[bytes]) -> bool:
        """Wait: True when the owner is gone or TERM came, False when the service ended by itself."""
        while not self._stop(None):
            if service.poll() is not None:
                return False
        return True

    def stop_within(self, seconds: float) -> bool:
        """Wait so long at most: True when the owner is gone or TERM came."""
        deadline = monotonic() + seconds
        while (left_seconds := deadline - monotonic()) > 0:
            if self._stop(left_seconds):
                return True
        return False

    def _stop(self, seconds: float | None) -> bool:
        ready = {key.fd for key, _ in self.selector.select(seconds)}
        if self.owner_fd in ready:
            if not os.read(self.owner_fd, 1):
                return True
            self.selector.unregister(self.owner_fd)  # released
        return self.wake_fd in ready and signal.SIGTERM in os.read(self.wake_fd, 64)


def stop(service: subprocess.Popen[bytes], grace_seconds: float) -> None:
    service.terminate()
    try:
        service.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]))

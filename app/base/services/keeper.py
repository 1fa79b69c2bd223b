"""The parent of one service: starts it, records it, and ends it when its owner is gone.

Run as a program by :mod:`app.base.services.processes`, never imported. It leaves its starter's session, so
that an interrupt at the terminal does not reach the service. With an owner, it holds the reading end of a
pipe whose writing end only the owner has: however the owner ends, KILL included, the pipe closes, and the
service is stopped. That also covers an owner that dies while all this is being set up, because the pipe is
there before the service. An owner that wants its services to stay writes one byte for each keeper.

    keeper.py OWNER_FD PID_FILE GRACE_SECONDS COMMAND...        OWNER_FD -1: no owner

Exits 0 once the service runs and PID_FILE is written; the keeper itself stays behind in the background.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path

import psutil


def main(owner_fd: int, pid_file: Path, grace_seconds: float, command: list[str]) -> int:
    """Fork: the first process waits for the news of the second, which is the keeper."""
    news, tell = os.pipe()
    if os.fork():
        os.close(tell)
        return 0 if os.read(news, 1) else 1
    os.close(news)
    os.setsid()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    service = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    record(pid_file, service.pid, command)
    os.write(tell, b"1")
    os.close(tell)
    if must_stop(service, owner_fd, wake):
        stop(service, grace_seconds)
        pid_file.unlink(missing_ok=True)
    else:
        print(f"keeper: process {service.pid} ended by itself with code {service.returncode}", flush=True)
    return 0


def record(pid_file: Path, pid: int, command: list[str]) -> None:
    """By rename, so that no reader sees half of it."""
    known = {
        "pid": pid,
        "started": psutil.Process(pid).create_time(),
        "command": command,
        "keeper": os.getpid(),
        "keeper_started": psutil.Process().create_time(),
    }
    draft = pid_file.with_suffix(".draft")
    draft.write_text(json.dumps(known))
    draft.replace(pid_file)


def must_stop(service: subprocess.Popen[bytes], owner_fd: int, wake: int) -> bool:
    """Wait: True when the owner is gone or TERM came, False when the service ended by itself."""
    with selectors.DefaultSelector() as selector:
        selector.register(wake, selectors.EVENT_READ)
        if owner_fd >= 0:
            selector.register(owner_fd, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if owner_fd in ready:
                if not os.read(owner_fd, 1):
                    return True
                selector.unregister(owner_fd)  # released
            if wake in ready and signal.SIGTERM in os.read(wake, 64):
                return True
            if service.poll() is not None:
                return False


def stop(service: subprocess.Popen[bytes], grace_seconds: float) -> None:
    service.terminate()
    try:
        service.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        service.kill()
        service.wait()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))

"""A command that is told to end clears up first, however often it is told."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machine.waiting import patient

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys, threading
from concurrent.futures import ThreadPoolExecutor

from app.edge.local.lifetime import unwind_on_term

def work():
    sys.stdin.read()
    print("cleared up", flush=True)

unwind_on_term()
with ThreadPoolExecutor() as pool:
    pool.submit(work)
    print("works", flush=True)
    threading.Event().wait()
"""


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGHUP])
def test_what_it_waits_for_as_it_ends_is_waited_for_when_it_is_told_again(again: signal.Signals) -> None:
    """Its thread has no end before the standard input has, which is closed behind the second signal."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == "works\n"
        process.send_signal(signal.SIGTERM)
        assert process.stderr.readline() == "told to end (SIGTERM)\n"
        process.send_signal(again)
        assert process.communicate(timeout=patient(60)) == ("cleared up\n", "")
    assert process.returncode == 128 + signal.SIGTERM

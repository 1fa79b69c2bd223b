"""What tests start ends with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machine.left_running import await_nothing_left, left

TEST_RUN = """
import sys
from pathlib import Path
from app.base.settings import Settings
from tests.support.machine.workers import Worker
folder = Path.cwd()
Worker(Settings.load(data_dir=folder), folder / "log", command=["sleep", "600"])
print("started", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_worker_ends_with_the_tests_that_started_it(how: signal.Signals, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = [sys.executable, "-c", TEST_RUN]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as tests:
        assert tests.stdout is not None
        assert tests.stdout.readline() == b"started\n"
        assert [process.name for process in left(tmp_path)] == ["sleep"]
        tests.send_signal(how)
    await_nothing_left(tmp_path)

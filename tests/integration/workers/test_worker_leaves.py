"""The very end of a worker's process: it runs nothing by which libraries could still end it otherwise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from app.base.settings import Settings
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker, environment_of

ABORTING = "tests.support.apps.aborting"


def test_a_worker_that_is_told_to_stop_leaves_without_exit_handlers(world: Settings, tmp_path: Path) -> None:
    imported = [sys.executable, "-c", f"import {ABORTING}"]
    aborted = subprocess.run(imported, env=os.environ | environment_of(world), check=False)
    assert aborted.returncode == -signal.SIGABRT
    started = Worker(world, tmp_path / "aborting.log", application=ABORTING)
    try:
        wait_for(started.is_ready, "the worker answers", [started])
        assert started.stop() == 0
    finally:
        started.kill()

"""`flagfall worker` hands over to Faust, on the event loop that it was measured with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import asyncio, os
import faust.cli.faust
faust.cli.faust.cli.main = lambda arguments, **_: print(
    type(asyncio.new_event_loop()).__module__, os.environ["FLAGFALL_WORKER_HTTP_PORT"], *arguments
)
from app.edge.cli.worker import command
command.main(["--http-port", "18082", "--log-level", "warn"], standalone_mode=False)
"""


def test_a_worker_runs_on_uvloop_with_what_it_was_told(tmp_path: Path) -> None:
    """Faust reads its own `--loop` only from the arguments that the process began with."""
    environment = os.environ | {"FLAGFALL_DATA_DIR": str(tmp_path)}  # a home may be read-only
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.split() == ["uvloop", "18082", "-A", "app.edge.worker", "--quiet", "worker", "-l", "warn"]


def test_a_fail_point_that_is_none_is_refused_in_one_line_like_any_setting(tmp_path: Path) -> None:
    environment = os.environ | {"FLAGFALL_DATA_DIR": str(tmp_path), "FLAGFALL_TEST_FAILPOINT": "nowhere:kill"}
    ran = subprocess.run(
        [sys.executable, "-m", "app.edge.cli.main", "worker"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 1
    (told,) = ran.stderr.splitlines()
    assert told.startswith("error: FLAGFALL_TEST_FAILPOINT=nowhere:kill: expected NAME:ACTION")


def test_a_worker_that_must_compile_says_so_and_what_would_avoid_it(tmp_path: Path) -> None:
    """started: with a cache that is empty"""
    environment = os.environ | {"FLAGFALL_DATA_DIR": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "loops")}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    (line,) = [line for line in ran.stderr.splitlines() if "compiling" in line]
    assert "loops, which takes some ten seconds" in line
    assert 'python -c "import app.edge.worker"' in line

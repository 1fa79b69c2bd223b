"""`flagfall demo`, from outside: it ends well, and leaves nothing running however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.services import local_settings

COMMAND = (sys.executable, "-m", "app.edge.cli.main", "demo")
END_SECONDS = 180.0
MOMENTS = {
    "A broker and a schema registry": signal.SIGINT,
    "Topics, schemas and the names of zones": signal.SIGTERM,
    "into Kafka, while": signal.SIGKILL,
    "The workers share the tasks": signal.SIGKILL,
    "Spark reads the topics again": signal.SIGKILL,
}


@pytest.mark.spark
def test_the_demo_ends_with_match_and_nothing_running(tmp_path: Path) -> None:
    report = tmp_path / "demo.json"
    done = subprocess.run(
        [*COMMAND, "--rides", "5000", "--data-dir", tmp_path / "demo", "--report", report],
        capture_output=True,
        text=True,
        check=False,
        env=_environment(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(report.read_text())
    assert (facts["verdict"], facts["rides"], facts["position"]) == ("MATCH", 5000, 5000)
    _await_nothing_left(tmp_path)


@pytest.mark.spark
@pytest.mark.parametrize(("moment", "number"), MOMENTS.items(), ids=lambda value: str(value).replace(" ", "_"))
def test_the_demo_interrupted_leaves_nothing_running(tmp_path: Path, moment: str, number: signal.Signals) -> None:
    errors = tmp_path / "errors"
    with errors.open("w") as told:
        process = subprocess.Popen(
            [*COMMAND, "--rides", "20000", "--data-dir", tmp_path / "demo"],
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            env=_environment(tmp_path) | {"PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
    assert process.stdout is not None
    assert any(moment in line for line in process.stdout), errors.read_text()
    process.send_signal(number)
    process.stdout.close()
    process.wait(END_SECONDS)
    assert process.returncode != 0
    _await_nothing_left(tmp_path)


def _environment(folder: Path) -> dict[str, str]:
    """With ports of its own: whoever starts the default ones at the same moment would take them."""
    return os.environ | local_settings(folder).environment()


def _await_nothing_left(folder: Path) -> None:
    deadline = time.monotonic() + END_SECONDS
    while left := _left(folder):
        assert time.monotonic() < deadline, f"still running: {left}"
        psutil.wait_procs(left, timeout=0.2)


def _left(folder: Path) -> list[psutil.Process]:
    """Processes that have to do with the demo's directory, or were started by one that has."""
    found = []
    for process in psutil.process_iter():
        try:
            told = " ".join(process.cmdline()) + process.environ().get("FLAGFALL_DATA_DIR", "")
        except psutil.Error:
            continue
        if str(folder) in told and process.status() != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found

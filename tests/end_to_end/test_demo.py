"""`flagfall demo`, interrupted: it leaves nothing running. That it ends well is the README's first command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machine.asking import in_time
from tests.support.machine.left_running import await_nothing_left
from tests.support.machine.services import local_settings
from tests.support.machine.waiting import patient

COMMAND = (sys.executable, "-m", "app.edge.cli.main", "demo")
END_SECONDS = 180.0
MOMENTS = {
    "A broker and a schema registry": signal.SIGINT,
    "into Kafka, while": signal.SIGKILL,
    "Spark reads the topics again": signal.SIGTERM,
}


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
    with in_time("the demo ends"):
        process.wait(patient(END_SECONDS))
    assert process.returncode != 0
    await_nothing_left(tmp_path)


def _environment(folder: Path) -> dict[str, str]:
    """With ports of its own: whoever starts the default ones at the same moment would take them."""
    return os.environ | local_settings(folder).environment()

"""The stage of the tests: lanes side by side, then a second chance for what only came too late."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.gate import machine
from scripts.gate.scratch import environment_in, scratch, settled
from scripts.gate.stages import TESTS_EXIT_CODE, TESTS_LIMIT_SECONDS, Ran, Stage, run
from scripts.gate.verdict import Told, read_told

TESTS = "tests"
TEST_LIMIT_SECONDS = 600
"""Of one test's body on an idle machine: for what hangs."""
MOST_NEW_PROCESSES = 1
"""For those that tests took with them: the next one begins with the same test, and with new services."""
MOST_LOG_BYTES = 5_000_000


def run_tests(name: str, folder: Path, environment: Mapping[str, str], *arguments: str) -> tuple[Ran, Told]:
    """One run of pytest, its logs kept if anything failed."""
    told = folder / f"{name}.jsonl"
    told.unlink(missing_ok=True)
    waits = float(environment[machine.PATIENCE_VARIABLE])
    with scratch() as own:
        command = (
            ".venv/bin/pytest",
            *arguments,
            f"--told={told}",
            f"--junitxml={folder / name}.xml",
            f"--basetemp={own}/t",
            f"--timeout={TEST_LIMIT_SECONDS * waits:.0f}",
            "--durations=20",
        )
        stage = Stage(name, TESTS_EXIT_CODE, command, TESTS_LIMIT_SECONDS * waits)
        ran = None
        try:
            ran = run(stage, folder, {**environment, **environment_in(own)})
        finally:  # also of a run that was stopped
            if ran is None or ran.code:
                keep_logs(own, folder / "logs" / name)
        ran = replace(ran, left_running=tuple(settled(own)))
    return ran, read_told(told.read_text().splitlines() if told.exists() else ())


def lanes(arguments: Sequence[str]) -> tuple[str, ...]:
    """Arguments of a run in lanes: a file's tests stay together."""
    return (
        "-n",
        os.environ.get("FLAGFALL_TEST_LANES") or str(machine.lanes()),
        "--dist",
        "loadfile",
        "--no-loadscope-reorder",
        f"--max-worker-restart={MOST_NEW_PROCESSES}",
        *arguments,
    )


def keep_logs(scratch: Path, kept: Path) -> None:
    """Copies of the logs of services, workers and Spark below a directory; of long ones the end."""
    for log in sorted(scratch.rglob("*.log")):
        if "kafka/data" in log.as_posix():
            continue
        copy = kept / log.relative_to(scratch)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if log.stat().st_size <= MOST_LOG_BYTES:
            shutil.copyfile(log, copy)
        else:
            with log.open("rb") as file:
                file.seek(-MOST_LOG_BYTES, os.SEEK_END)
                copy.write_bytes(file.read())

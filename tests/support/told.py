"""What a run of tests tells the gate: each test's beginning, its failures, its seconds, as JSON lines in a file.

The file is whole at every moment, so a run that hangs or is ended has told what it was at.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.base.services.errors import StartFailed
from tests.support.machine.waiting import NotInTime

PATIENTLY = ("integration", "end_to_end", "browser", "drills")
"""Levels on real services, workers and browser: what did not come in time there is tried once more."""
LONGEST_WORDS = 400
FACTS = "facts_of_the_failure"


def facts_of(level: str, error: BaseException, line: str) -> dict[str, object]:
    """Of a failure: whether it may be tried again, and its first words."""
    not_in_time = level in PATIENTLY and isinstance(error, NotInTime | StartFailed)
    return {"not_in_time": not_in_time, "error": line[:LONGEST_WORDS]}


class Teller:
    """A pytest plugin of the process that controls the run."""

    def __init__(self, file: Path) -> None:
        self._file = file.open("a", buffering=1)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(test=nodeid, event="began")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        facts: Any = dict(report.user_properties).get(FACTS, {})
        if report.failed:
            crashed = {"not_in_time": False, "error": str(report.longrepr)[-LONGEST_WORDS:]}
            self._tell(test=report.nodeid, event="failed", phase=report.when, **(facts or crashed))
        if report.when == "teardown":
            self._tell(test=report.nodeid, event="ended")
        self._tell(test=report.nodeid, event="took", phase=report.when, seconds=round(report.duration, 2))

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def _tell(self, **facts: object) -> None:
        self._file.write(json.dumps(facts) + "\n")

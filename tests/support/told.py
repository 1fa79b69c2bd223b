"""What a run of tests tells the gate, as JSON lines in a file: how many tests there are, each one's beginning, its
failures and seconds, that it passed or was skipped.

The file is whole at every moment, so a run that hangs or is ended has told what it was at.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
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
    not_in_time = level in PATIENTLY and _is_waiting_alone(error)
    return {"not_in_time": not_in_time, "error": line[:LONGEST_WORDS]}


def _is_waiting_alone(error: BaseException) -> bool:
    """Whether nothing but waiting in vain failed: no comparison behind it, and nothing that it came in the way of."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_waiting_alone(one) for one in error.exceptions)
    if not isinstance(error, NotInTime | StartFailed):
        return False
    if error.__cause__ is not None:  # said in other words: a comparison stays one
        cause = error.__cause__
        return not isinstance(cause, AssertionError) or _is_waiting_alone(cause)
    masked = None if error.__suppress_context__ else error.__context__
    return masked is None or _is_waiting_alone(masked)


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
        if report.skipped:
            self._tell(test=report.nodeid, event="skipped", reason=_reason(report))
        if report.when == "call" and report.passed:
            self._tell(test=report.nodeid, event="passed")
        if report.when == "teardown":
            self._tell(test=report.nodeid, event="ended")
        self._tell(test=report.nodeid, event="took", phase=report.when, seconds=round(report.duration, 2))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        if session.items:  # in lanes the one that controls them has none
            self._tell(event="collected", tests=len(session.items))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._tell(event="collected", tests=len(ids))  # each lane collects all

    def pytest_unconfigure(self) -> None:
        self._file.close()

    def _tell(self, **facts: object) -> None:
        self._file.write(json.dumps(facts) + "\n")


def _reason(report: pytest.TestReport) -> str:
    """Why a test was skipped."""
    told = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    return told.removeprefix("Skipped: ")[:LONGEST_WORDS]

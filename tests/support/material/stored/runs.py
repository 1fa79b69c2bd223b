"""Runs of the reconciliation: written as it writes them, without Spark, and read."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from app.base.files.verdicts import RUNS, LastVerdicts, Verdict
from app.domain.view import View
from app.domain.windows.scope import Scope
from spark_batch.findings.report import REPORT, Report, new_run_id
from spark_batch.findings.view_report import ViewReport

REPORT_SCHEMA = jsonschema.Draft202012Validator(
    json.loads(files("spark_batch.findings").joinpath("report.schema.json").read_text("utf-8"))
)
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def verdicts_in(data_dir: Path, application: str = "flagfall") -> LastVerdicts:
    """The application's, as workers and commands with that data directory know them."""
    return LastVerdicts(data_dir / RUNS, application)


def wrote(
    data_dir: Path,
    residuals: Mapping[View, int],
    begun_at: datetime,
    *,
    stopped: View | None = None,
    ends: bool = True,
    application: str = "flagfall",
    scope: Scope | None = None,
) -> Callable[[], None]:
    """A run of a minute that found so many unexplained rows of each view, and was stopped at another one.

    With `ends` False it ends when what is returned is called.
    """
    report = Report(new_run_id(begun_at), application, begun_at, {}, scope=scope)
    views = [*residuals, *([stopped] if stopped else [])]
    verdicts = verdicts_in(data_dir, application)
    verdicts.write_begun([view.name for view in views], report.begun)
    report.views = [ViewReport(view, (), 1, 1, 1, rows, 0, (), ()) for view, rows in residuals.items()]
    found = Verdict.MISMATCH if any(residuals.values()) else Verdict.MATCH
    report.verdict, report.finished_at = (Verdict.INVALID if stopped else found), begun_at + timedelta(minutes=1)

    def end() -> None:
        verdicts.write_finished(report.found(views))

    if ends:
        end()
    return end


def read_report(output: Path, run_id: str) -> dict[str, Any]:
    """A run's report, as its published schema says."""
    found: dict[str, Any] = json.loads((output / run_id / REPORT).read_text())
    REPORT_SCHEMA.validate(found)
    return found

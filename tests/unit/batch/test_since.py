"""Since when windows may have changed: by runs that found their view right, over everything or on from such a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.base.files.trail import Trail, TrailBroken
from app.base.files.verdicts import Verdict
from app.domain.view import View
from app.domain.windows.scope import Scope
from app.rides.views import ZONE_DEMAND
from spark_batch.findings.report import REPORT, Report
from spark_batch.findings.since import since_last
from spark_batch.findings.view_report import ViewReport
from spark_batch.findings.written import RUN_FILES, write_report
from tests.support.material.histories import START_US
from tests.support.material.stored.sample_report import cut_of
from tests.support.material.views import SHIFTED, SHIFTS, UNGROUPED

BEGUN = datetime(2026, 1, 6, 3, tzinfo=UTC)
DAY_US = 86_400_000_000


class Runs:
    """Runs that end one after the other, without Spark."""

    def __init__(self, folder: Path) -> None:
        self.trail, self._key, self._count = Trail(folder / "runs"), folder / "audit.pem", 0

    def ran(self, wrong: Mapping[View, int], *, scope: Scope | None = None) -> ViewReport:
        """So many unexplained rows of each view, a day later than the run before; the first view's report."""
        begun = BEGUN + timedelta(days=self._count)
        report = Report(f"run-{self._count}", "flagfall", begun, {}, scope=scope, finished_at=begun)
        self._count += 1
        cuts = [cut_of(partition, START_US + self._count * DAY_US) for partition in range(2)]
        report.views = [ViewReport(view, cuts, 1, 1, 1, rows, 0, (), ()) for view, rows in wrong.items()]
        report.verdict = Verdict.MISMATCH if any(wrong.values()) else Verdict.MATCH
        write_report(report, self.trail.runs / report.run_id)
        self.trail.append(report.of_trail, RUN_FILES, self._key)
        return report.views[0]

    def since(self, *views: View) -> Scope | None:
        return since_last(self.trail, "flagfall", views or [ZONE_DEMAND])


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_before_the_first_run_everything_is_compared(runs: Runs) -> None:
    assert runs.since() is None


def test_it_begins_where_windows_had_not_ended_when_the_view_was_found_right(runs: Runs) -> None:
    found = runs.ran({ZONE_DEMAND: 0})
    assert runs.since() == Scope(found.final_to_us, None, "run-0")


def test_runs_that_found_the_view_wrong_and_runs_of_a_time_alone_do_not_count(runs: Runs) -> None:
    runs.ran({ZONE_DEMAND: 0})
    runs.ran({ZONE_DEMAND: 1})
    runs.ran({ZONE_DEMAND: 0}, scope=Scope(0, 1))
    runs.ran({ZONE_DEMAND: 0}, scope=Scope(0))
    since = runs.since()
    assert since is not None
    assert since.since_run == "run-0"


def test_a_run_that_went_on_from_one_that_counts_does_too(runs: Runs) -> None:
    runs.ran({ZONE_DEMAND: 0})
    runs.ran({ZONE_DEMAND: 0}, scope=runs.since())
    since = runs.since()
    assert since is not None
    assert since.since_run == "run-1"


def test_of_several_views_the_one_that_was_right_longest_ago_says_when(runs: Runs) -> None:
    runs.ran({ZONE_DEMAND: 0, SHIFTED: 0})
    runs.ran({ZONE_DEMAND: 0, SHIFTED: 1})
    since = runs.since(ZONE_DEMAND, SHIFTED)
    assert since is not None
    assert since.since_run == "run-0"


def test_a_view_that_was_not_compared_yet_or_is_another_one_now_means_everything(runs: Runs) -> None:
    runs.ran({ZONE_DEMAND: 0})
    assert runs.since(ZONE_DEMAND, SHIFTED) is None
    assert runs.since(replace(ZONE_DEMAND, groups=ZONE_DEMAND.groups[:0])) is None


def test_views_that_are_compared_whole_anyway_do_not_matter(runs: Runs) -> None:
    runs.ran({ZONE_DEMAND: 0})
    assert runs.since(ZONE_DEMAND, SHIFTS, UNGROUPED) == runs.since() is not None


def test_a_report_that_is_gone_counts_as_no_run_and_one_that_was_changed_is_told(runs: Runs) -> None:
    runs.ran({ZONE_DEMAND: 0})
    runs.ran({ZONE_DEMAND: 0})
    (runs.trail.runs / "run-1" / REPORT).unlink()
    since = runs.since()
    assert since is not None
    assert since.since_run == "run-0"
    (runs.trail.runs / "run-0" / REPORT).write_text("{}")
    with pytest.raises(TrailBroken, match="is not the file that run run-0 wrote"):
        runs.since()

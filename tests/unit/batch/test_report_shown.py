"""A run's report at a terminal: figures are whole, however narrow it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest

from app.base.files.verdicts import Verdict
from app.base.terminal import Terminal
from app.domain.difference import ComparedRow, DifferenceKind
from app.domain.naming.claims import TOO_MANY
from app.domain.naming.gathered import NamedRun
from app.domain.naming.row_difference import RowDifference
from app.domain.naming.runs import OffsetRun
from app.domain.rows import RowKey
from app.domain.windows.scope import Scope
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from spark_batch.findings.report import Report
from spark_batch.findings.shown.report import show
from spark_batch.findings.view_report import ViewReport
from spark_batch.findings.words import OF_RECORDS
from spark_batch.stored.ledgers import LedgerEntry
from tests.support.material.stored.sample_report import cut_of, sample_report

ROWS, APPLIED, LATE = 1_018_432, 20_480_117, 31_544


def shown(width: int, rows: int = ROWS) -> list[str]:
    """Lines of a report of two views, the first of so many rows."""
    ledger = [LedgerEntry("rides.yellow", 0, name, n, n) for name, n in (("applied", APPLIED), ("late", LATE))]
    report = Report("r1", "flagfall", datetime(2026, 1, 5, tzinfo=UTC), {}, Verdict.MATCH)
    report.views = [
        ViewReport(ZONE_DEMAND, (), rows, rows, rows, 0, 0, (), ledger, 2),
        ViewReport(VENDOR_TRIPS, (), 12, 12, 12, 0, 0, (), (), 0),
    ]
    return told(report, width)


def told(report: Report, width: int) -> list[str]:
    file = StringIO()
    show(report, Path("folder"), Terminal(file=file, width=width))
    return file.getvalue().splitlines()


def line_of(view: str, lines: Sequence[str]) -> list[str]:
    return next(line.split() for line in lines if line.startswith(view))


@pytest.mark.parametrize("width", [200, 80, 60, 20])
@pytest.mark.parametrize("rows", [ROWS, 1_234_567_890_123])
def test_no_figure_is_cut_whatever_the_width(width: int, rows: int) -> None:
    lines = shown(width, rows)
    figures = [*[f"{rows:,}"] * 3, "0", f"{APPLIED:,}", f"{LATE:,}", "2"]
    assert line_of("zone_demand", lines) == ["zone_demand", *figures]
    assert line_of("vendor_trips", lines) == ["vendor_trips", *["12"] * 3, "0", "0", "0", "0"]
    assert "…" not in "".join(lines)


def test_a_table_of_millions_of_rows_has_whole_headings_at_80_columns() -> None:
    lines = shown(80)
    assert max(map(len, lines)) <= 80
    assert any(
        line.split() == ["rows", "of", *["live", "changelog", "recomputed", "differ", "applied", "late", "corrections"]]
        for line in lines
    )


def test_a_batch_that_was_applied_twice_is_a_line_not_a_line_for_each_record() -> None:
    run = OffsetRun("rides.yellow", 2, 1000, 20_999, 20_000)
    row = ComparedRow(2, RowKey(0, (132,)), None, None, None)
    one = RowDifference(DifferenceKind.DOUBLED, row, (), runs=(run,), record_count=20_000)
    report = Report("r1", "flagfall", datetime(2026, 1, 5, tzinfo=UTC), {}, Verdict.MISMATCH)
    runs = [NamedRun(DifferenceKind.DOUBLED, run, 3_012)]
    report.views = [ViewReport(ZONE_DEMAND, [cut_of(p) for p in range(4)], 1, 1, 1, 3_012, 3_012, [one], (), 0, runs)]
    lines = told(report, 200)
    assert (
        "DOUBLED zone_demand: rides.yellow[2] offsets 1000-20999, 20,000 records, applied twice, in 3,012 rows" in lines
    )
    assert "    rides.yellow[2] offsets 1000-20999, 20,000 records" in lines
    assert sum("rides.yellow" in line for line in lines) == 2


def test_why_a_difference_has_no_name_is_said() -> None:
    row = ComparedRow(2, RowKey(0, (132,)), None, None, None)
    one = RowDifference(DifferenceKind.UNNAMED, row, (), why=TOO_MANY)
    report = Report("r1", "flagfall", datetime(2026, 1, 5, tzinfo=UTC), {}, Verdict.MISMATCH)
    report.views = [ViewReport(ZONE_DEMAND, [cut_of(p) for p in range(4)], 1, 1, 1, 1, 1, [one], ())]
    assert any(line.startswith("UNNAMED") and TOO_MANY in line for line in told(report, 200))


def test_a_verdict_over_some_windows_says_which() -> None:
    report = Report("r1", "flagfall", datetime(2026, 1, 5, tzinfo=UTC), {}, Verdict.MATCH, scope=Scope(0, None, "r0"))
    words = "of windows from 1970-01-01T00:00:00Z, since run r0; sessions, views of all time, joins and alerts whole"
    assert words in told(report, 200)


def test_how_many_rows_were_compared_through_their_finals_is_said_and_which_differ() -> None:
    lines = told(sample_report(differing=0), 300)
    sums = (
        "zone_demand: 18,044 rows that have left were compared with windows.zone_demand, 4 differ; "
        "2 were corrected since and not compared; 3 are older than what it holds and were not compared; "
        "5 stand there again"
    )
    assert sums in lines
    assert any(line.startswith("LOST zone_demand, zone 132, window_start") for line in lines)
    at = next(n for n, line in enumerate(lines) if line.startswith("ALTERED zone_demand"))
    assert lines[at + 1 : at + 3] == [
        "    published: windows.zone_demand-1 at 4711",
        "    count: published 93, recomputed 124",
    ]


@pytest.mark.parametrize("plans_only", [True, False])
def test_how_rows_can_be_set_right_is_told_unless_they_are_about_to_be(plans_only: bool) -> None:
    file = StringIO()
    report = sample_report()
    assert report.views[0].repairs.repairs
    show(report, Path("folder"), Terminal(file=file, width=200), plans_only=plans_only)
    assert ("can be set right: flagfall reconcile --repair apply" in file.getvalue()) == plans_only
    assert "cannot be set right by a correction: " in file.getvalue()


def test_each_class_of_difference_has_its_words() -> None:
    assert set(OF_RECORDS) == set(DifferenceKind)

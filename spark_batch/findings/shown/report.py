"""A run's report for a reader at a terminal: the verdict first, then what it rests on, then the first differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from app.base.files.trail import TRAIL
from app.base.files.verdicts import Verdict
from app.base.printable import printable
from app.base.terminal import Terminal
from app.domain import difference as d
from app.domain.corrections.repair import REMEDIES
from app.domain.naming.clusters import ROWS, RowCluster, RowExtent
from app.domain.naming.row_difference import RowDifference
from app.domain.rows import Cells
from app.domain.view import View
from spark_batch.findings.keys import shown_instant, shown_key
from spark_batch.findings.report import REPORT, Report
from spark_batch.findings.shown.completeness import show_completeness
from spark_batch.findings.shown.finals import show_finals
from spark_batch.findings.shown.results import show_results
from spark_batch.findings.shown.third import show_third
from spark_batch.findings.view_report import ViewReport
from spark_batch.findings.words import MEANING, OF_RECORDS, OF_REPAIRED
from spark_batch.findings.written import PAGE
from spark_batch.stored.ledgers import LedgerEntry

SHOWN = 10
"""Differing rows shown per view; the report has all that were looked into."""
RECORDS_SHOWN = 3
LEAST_OF_A_WORD = 4
"""Letters of a heading in one line; folded further, nobody would read it."""


def show(report: Report, folder: Path, console: Terminal | None = None, *, plans_only: bool = True) -> None:
    """Print it. `plans_only`: rows that can be set right are not about to be."""
    out = console or Terminal()
    colour = {Verdict.MATCH: "green", Verdict.MISMATCH: "red"}.get(report.verdict, "yellow")
    out.print(Text.assemble("\n", (report.verdict.value, f"bold {colour}"), f"  {MEANING[report.verdict]}"))
    if report.scope is not None:
        out.print(f"of {report.scope}; sessions, views of all time, joins and alerts whole")
    if report.reason:
        out.print(report.reason)
    if report.views:
        out.print(_counts(report, out.width), crop=False)
    for view in report.views:
        _show_ledger(out, view.view.name, view.ledger_faults)
        _show_runs(out, view)
        _show_differences(out, view)
        _show_repairs(out, view, is_planned=plans_only)
        if view.finals is not None:
            show_finals(out, view.view, view.finals)
    for view in report.views:
        if view.completeness is not None:
            show_completeness(out, view.view, view.completeness)
    for view in report.views:
        if view.third is not None:
            show_third(out, view.view, view.third)
    for pairing in report.pairings:
        show_results(out, pairing)
        _show_ledger(out, pairing.pairing.name, pairing.ledger_faults)
    if report.usable_today:
        out.print(
            f"\n{report.usable_today:,} records in quarantine named a schema that was unknown when they were read, or "
            "were not foreseen, and can be used today: `flagfall late refeed --reason unknown_schema --reason "
            "undecodable` adds those that it has not added",
        )
    rate = f", {report.records_per_second:,.0f} a second" if report.records_per_second else ""
    residual = "" if report.told_residual is None else f"; unexplained residual {report.told_residual:,}"
    out.print(f"\n{report.records:,} source records{rate}{residual}")
    out.print(f"{report.offsets_read:,} offsets were read from topics")
    out.print(f"report: {folder / PAGE}, and {REPORT} beside it", soft_wrap=True)
    if report.line:
        out.print(f"signed: line {report.line} of {folder.parent / TRAIL}", soft_wrap=True)


def _counts(report: Report, room: int) -> Table:
    """What was compared, a line a view. Headings fold where they must; no figure is ever cut, be the line too long."""
    rows = [_figures(view) for view in report.views]
    figures = [max(map(len, column)) for column in zip(*rows, strict=True)]
    words = [max(map(len, heading.split())) for heading in _HEADINGS]
    whole = [max(*both) for both in zip(figures, words, strict=True)]
    folded = [max(width, min(word, LEAST_OF_A_WORD)) for width, word in zip(figures, words, strict=True)]
    fitting = (one for one in (_Layout(whole, 2), _Layout(whole, 1), _Layout(folded, 1)) if one.width <= room)
    layout = next(fitting, _Layout(whole, 1))
    table = Table(box=None, header_style="bold", padding=(0, layout.gap, 0, 0), pad_edge=False, width=layout.width)
    for at, (heading, width) in enumerate(zip(_HEADINGS, layout.widths, strict=True)):
        table.add_column(heading, justify="right" if at else "left", width=width, overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


_HEADINGS = ("rows of", "live", "changelog", "recomputed", "differ", "records applied", "late", "corrections")


class _Layout(NamedTuple):
    """Of a table: its columns' widths, and what stands between them."""

    widths: Sequence[int]
    gap: int

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * (len(self.widths) - 1)


def _figures(view: ViewReport) -> list[str]:
    """Under _HEADINGS."""
    applied, late = (sum(e.recomputed for e in view.ledger if e.name == name) for name in ("applied", "late"))
    rows = (view.live_rows, view.changelog_rows, view.recomputed_rows, view.differing_rows)
    return [view.view.name, *(f"{figure:,}" for figure in (*rows, applied, late, view.corrections))]


def _show_ledger(out: Terminal, name: str, faults: Sequence[LedgerEntry]) -> None:
    for entry in faults[:SHOWN]:
        out.print(
            f"ledger of {name}, {entry.topic}-{entry.partition}: the worker says {entry.name} "
            f"{entry.marker:,}, counted again {entry.recomputed:,}"
        )


def _show_runs(out: Terminal, view: ViewReport) -> None:
    """Records of all rows together, where they are more than a reader would look at one by one."""
    runs = sorted((one for one in view.runs if one.run.record_count > 1), key=lambda one: -one.run.record_count)
    for one in runs[:SHOWN]:
        rows = "one row" if one.row_count == 1 else f"{one.row_count:,} rows"
        what = f" {view.view.name}: {one.run}, {OF_RECORDS[one.kind]}, in {rows}"
        out.print(Text.assemble((one.kind.value, "bold red"), what))
    if len(runs) > SHOWN:
        out.print(f"… and {len(runs) - SHOWN:,} more runs of records")


def _show_differences(out: Terminal, view: ViewReport) -> None:
    unexplained_first = sorted(view.differences, key=lambda one: not one.is_residual)
    for one in unexplained_first[:SHOWN]:
        what = f" {view.view.name} {_key(view.view, one.row)}: {one.why or OF_RECORDS[one.kind]}"
        out.print(Text.assemble((one.kind.value, "bold red"), what))
        _show_records(out, view, one)
        _show_sides(out, view, one)
    if len(view.differences) > SHOWN:
        out.print(f"… and {view.differing_rows - SHOWN:,} more differing rows of {view.view.name}")


def _show_records(out: Terminal, view: ViewReport, one: RowDifference) -> None:
    if one.record_count <= RECORDS_SHOWN:
        for witness in one.records:
            record = witness.record
            name = printable(str(record.values[view.view.source.id]))
            out.print(f"    {record.topic}[{record.partition}] offset {record.offset}, {name}")
        return
    for run in one.runs[:RECORDS_SHOWN]:
        out.print(f"    {run}")
    if len(one.runs) != 1:
        out.print(f"    {one.record_count:,} records in all")


def _show_sides(out: Terminal, view: ViewReport, one: RowDifference) -> None:
    """The cells that differ; of rows that merge, where each side has rows, if that differs."""
    for name in [name for name in one.cells if name != ROWS][:SHOWN]:
        out.print(f"    {_sides(view.view, one.row, name)}")
    if (left := len([name for name in one.cells if name != ROWS]) - SHOWN) > 0:
        out.print(f"    … and {left:,} more cells")
    if isinstance(one.row, RowCluster) and len({*one.row.extents}) > 1:
        for side, extents in zip(_SIDES, one.row.extents, strict=True):
            out.print(f"    {side}: {', '.join(map(_extent, extents[:RECORDS_SHOWN])) or 'no row'}{_more(extents)}")


def _show_repairs(out: Terminal, view: ViewReport, *, is_planned: bool) -> None:
    plan = view.repairs
    if plan.repairs and is_planned:
        rows = "one row" if len(plan.repairs) == 1 else f"{len(plan.repairs):,} rows"
        out.print(f"{rows} of {view.name} can be set right: flagfall reconcile --repair apply", soft_wrap=True)
    for what, finals in plan.finals._asdict().items():
        if finals:
            out.print(f"finals of these rows {OF_REPAIRED[what]}: {finals:,}", soft_wrap=True)
    for why, count in plan.left.items():
        out.print(f"{count:,} of {view.name} cannot be set right by a correction: {REMEDIES[why]}", soft_wrap=True)


def _key(view: View, row: d.ComparedRow) -> str:
    key = shown_key(view, row).items()
    return ", ".join(f"{name} {printable(str(value))}" for name, value in key if name != "window_start" or value)


def _sides(view: View, row: d.ComparedRow, name: str) -> str:
    if name not in view.cells:
        return "the row is there on one side only"
    at = view.cells.index(name)
    told = [(side, cells[at] if cells else "–") for side, cells in zip(_SIDES, _cells(row), strict=True)]
    return f"{name}: " + ", ".join(f"{side} {value}" for side, value in told)


def _extent(extent: RowExtent) -> str:
    return f"{shown_instant(extent.start_us)} to {shown_instant(extent.end_us)}"


def _more(extents: Sequence[RowExtent]) -> str:
    return f" and {len(extents) - RECORDS_SHOWN:,} more" if len(extents) > RECORDS_SHOWN else ""


_SIDES = ("live", "changelog", "recomputed")


def _cells(row: d.ComparedRow) -> tuple[Cells | None, ...]:
    return row.live, row.changelog, row.recomputed

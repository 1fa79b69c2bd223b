"""What `flagfall reconcile --repair apply` sets right, and what it says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from app.edge.cli.common import echo_table, tell

if TYPE_CHECKING:
    from app.base.settings import Settings
    from app.domain.catalogue import Catalogue
    from spark_batch.findings.report import Report

WAIT_SECONDS = 30.0
"""For a task to judge a portion of corrections."""


def repairs_made(settings: Settings, catalogue: Catalogue, report: Report, most: int) -> list[dict[str, Any]]:
    """What became of the rows, by view; click.ClickException, and nothing sent, where they are too many."""
    from app.edge.late.repairing import repair

    plans = [(one.view, one.repairs) for one in report.views]
    wanted = sum(len(plan.repairs) for _, plan in plans)
    if wanted > most:
        raise click.ClickException(
            f"{wanted:,} rows can be set right, and --most-repairs allows {most:,}: none was. Look for what made them "
            "so; then allow as many"
        )
    told = Counter[tuple[str, str, str | None]]()
    try:
        for one in repair(settings, catalogue, plans, report.run_id, WAIT_SECONDS):
            told[one.view.name, one.outcome, one.why] += 1
    finally:
        if told.total() < wanted:
            tell(f"ended after {told.total():,} of {wanted:,} rows; the next run sees what is left")
    return [{"view": v, "outcome": outcome, "why": why, "rows": rows} for (v, outcome, why), rows in told.items()]


def show_repairs(repaired: Sequence[dict[str, Any]]) -> None:
    """A line for each outcome of each view."""
    from app.domain.corrections.correction import Refusal

    if not repaired:
        click.echo("no row was to be set right by a correction")
        return
    echo_table(("VIEW", "OUTCOME", "WHY", "ROWS"), [tuple(one.values()) for one in repaired])
    if any(one["why"] == Refusal.MOVED_ON for one in repaired):
        click.echo(
            "moved_on: another row stands there than was looked at, or another run has set it; the next run says"
        )

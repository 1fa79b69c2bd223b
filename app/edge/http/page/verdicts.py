"""The last verdicts, as `flagfall reconcile` left them in the data directory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from app.base.files.verdicts import Checked, Finished, LatestUnreadable, Verdict
from app.edge.http.context import Edge
from app.edge.http.runs.run_handlers import report_page_address

UNREADABLE = "UNREADABLE"
NONE_YET = "none yet"
WORST_FIRST = (Verdict.MISMATCH, Verdict.INVALID, Verdict.INCONCLUSIVE, Verdict.MATCH)

log = logging.getLogger(__name__)


class Note(NamedTuple):
    """`page`: where the run's own page is."""

    text: str
    page: str | None = None


class Card(NamedTuple):
    """What the page says: the worst verdict of the views, and in words what it rests on."""

    headline: str
    notes: list[Note]


def read_verdicts(edge: Edge) -> Mapping[str, Checked] | None:
    """By view, of this application and those of this release alone; None where the file makes no sense."""
    try:
        found = edge.verdicts.read()
    except LatestUnreadable as error:
        log.warning("%s", error)
        return None
    return {name: checked for name, checked in found.items() if name in edge.views}


def card(edge: Edge) -> Card:
    """Of all views: a verdict keeps its date, and a later run that has not ended is told beside it."""
    checked = read_verdicts(edge)
    if checked is None:
        return Card(UNREADABLE, [])
    ended: dict[str, list[tuple[str, Finished]]] = {}
    for name, one in checked.items():
        if one.finished is not None:
            ended.setdefault(one.finished.run_id, []).append((name, one.finished))
    verdicts = {finished.verdict for run in ended.values() for _, finished in run}
    headline = next((verdict.value for verdict in WORST_FIRST if verdict in verdicts), NONE_YET)
    notes = [
        Note(_ended(ended[run_id], views_named=len(ended) > 1), report_page_address(edge, run_id))
        for run_id in sorted(ended, reverse=True)
    ]
    unfinished = {one.unfinished.run_id: one.unfinished for one in checked.values() if one.unfinished is not None}
    notes += [
        Note(f"run {run_id} began {minute(run.begun_at)} and has not ended") for run_id, run in unfinished.items()
    ]
    return Card(headline, notes)


def minute(instant: datetime) -> str:
    """`2024-01-31 08:05 UTC`."""
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _ended(run: Sequence[tuple[str, Finished]], *, views_named: bool) -> str:
    finished = run[0][1]
    residuals = [one.residual for _, one in run if one.residual is not None]
    residual = f"{sum(residuals)} unexplained rows · " if residuals else ""
    verdicts = ", ".join(f"{name} {one.verdict.value}" for name, one in run) + " · " if views_named else ""
    scope = f"{finished.scope} · " if finished.scope is not None else ""
    return f"{verdicts}{scope}{residual}{minute(finished.finished_at)} · run {finished.run_id}"

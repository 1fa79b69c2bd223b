"""What a run found, and the document that tells it. docs/reconciliation.md lists the fields."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from app.base.files.verdicts import Begun, Finished, Verdict
from app.domain import difference as d
from app.domain.contribution import contribution
from app.domain.fingerprint import Origin, pack
from app.domain.naming.clusters import RowCluster
from app.domain.naming.gathered import NamedRun
from app.domain.naming.row_difference import RowDifference
from app.domain.rows import Cells
from app.domain.view import View
from spark_batch.findings.completeness import Completeness
from spark_batch.findings.results import PairingReport
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry

LAYOUT = 2
REPORT = "report.json"


@dataclass
class ViewReport:
    """One view: its cut, what was compared, what differs. `differing_rows` beyond those named are residual.

    `corrections`: how many were folded in. `runs`: the records of all differences, told together. `completeness`: what
    the view should be, if that was asked.
    """

    view: View
    cuts: Sequence[TaskCut]
    live_rows: int
    changelog_rows: int
    recomputed_rows: int
    differing_rows: int
    named_rows: int
    differences: Sequence[RowDifference]
    ledger: Sequence[LedgerEntry]
    corrections: int = 0
    runs: Sequence[NamedRun] = ()
    completeness: Completeness | None = None

    @property
    def ledger_faults(self) -> list[LedgerEntry]:
        return [entry for entry in self.ledger if entry.differs]

    @property
    def residual(self) -> int:
        """Differences that no listed record explains; must be 0."""
        return sum(one.is_residual for one in self.differences) + self.differing_rows - self.named_rows

    @property
    def is_right(self) -> bool:
        return not self.differing_rows and not self.ledger_faults

    @property
    def verdict(self) -> Verdict:
        return Verdict.MATCH if self.is_right else Verdict.MISMATCH

    def as_json(self) -> dict[str, Any]:
        kinds = [one.kind.value for one in self.differences]
        return {
            "view": self.view.name,
            "version": self.view.version,
            "groups": {group.name: group.column for group in self.view.groups},
            "cut": [cut.as_json() for cut in self.cuts],
            "rows": {
                "live": self.live_rows,
                "changelog": self.changelog_rows,
                "recomputed": self.recomputed_rows,
            },
            "corrections": self.corrections,
            "differing_rows": self.differing_rows,
            "classes": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
            "residual": self.residual,
            "runs": [{"class": one.kind.value, **asdict(one.run), "row_count": one.row_count} for one in self.runs],
            "differences": [_difference(self.view, one) for one in self.differences],
            "ledger": [asdict(entry) | {"differs": entry.differs} for entry in self.ledger],
            **({} if self.completeness is None else {"completeness": self.completeness.as_json(self.view)}),
        }


@dataclass
class Report:
    """One run. `reason` says in words why there is no verdict on the figures.

    `usable_today`: records refused for what was so then (an unknown schema, say), and that could be used now.
    """

    run_id: str
    application: str
    started_at: datetime
    versions: dict[str, str]
    verdict: Verdict = Verdict.INVALID
    reason: str | None = None
    finished_at: datetime | None = None
    views: list[ViewReport] = field(default_factory=list)
    pairings: list[PairingReport] = field(default_factory=list)
    records: int = 0
    usable_today: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    records_per_second: float | None = None

    @property
    def compared(self) -> list[ViewReport | PairingReport]:
        return [*self.views, *self.pairings]

    @property
    def residual(self) -> int:
        return sum(one.residual for one in self.compared)

    @property
    def is_right(self) -> bool:
        return all(one.is_right for one in self.compared)

    @property
    def begun(self) -> Begun:
        return Begun(run_id=self.run_id, begun_at=self.started_at)

    def found(self, views: Sequence[View]) -> dict[str, Finished]:
        """By the view's name, what a run that ended says of each. The run's own verdict is for those not compared."""
        compared = {view.view.name: view for view in self.views}
        return {view.name: self._found(compared.get(view.name)) for view in views}

    def _found(self, view: ViewReport | None) -> Finished:
        if self.finished_at is None:
            raise ValueError(f"run {self.run_id} has not ended")
        return Finished(
            **self.begun.model_dump(),
            finished_at=self.finished_at,
            verdict=self.verdict if view is None else view.verdict,
            residual=None if view is None else view.residual,
            reason=self.reason if view is None else None,
            report=f"{self.run_id}/{REPORT}",
        )

    @contextlib.contextmanager
    def timed(self, step: str) -> Iterator[None]:
        """Adds the seconds of a step."""
        begun = perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = round(self.seconds.get(step, 0.0) + perf_counter() - begun, 3)

    def as_json(self) -> dict[str, Any]:
        return {
            "layout": LAYOUT,
            "run_id": self.run_id,
            "application": self.application,
            "verdict": self.verdict.value,
            "reason": self.reason,
            "started": self.started_at.isoformat(),
            "finished": None if self.finished_at is None else self.finished_at.isoformat(),
            "residual": self.residual,
            "versions": self.versions,
            "records": self.records,
            "usable_today": self.usable_today,
            "records_per_second": self.records_per_second,
            "seconds": self.seconds,
            "views": [view.as_json() for view in self.views],
            "pairings": [pairing.as_json() for pairing in self.pairings],
        }


def new_run_id(now: datetime) -> str:
    """Sorts by time, and two runs of one second differ."""
    return f"{now:%Y%m%dT%H%M%S}-{os.urandom(2).hex()}"


def shown_key(view: View, row: d.ComparedRow) -> dict[str, Any]:
    """A row's key in words: group names, window start as an instant."""
    group = {g.name: value for g, value in zip(view.stored_groups, row.key.group, strict=True)}
    start = row.key.window_start_us
    return {"partition": row.partition, **group, "window_start": None if start is None else shown_instant(start)}


def shown_instant(us: int) -> str:
    """ISO 8601, UTC."""
    return datetime.fromtimestamp(us / 1_000_000, UTC).isoformat()


def _difference(view: View, one: RowDifference) -> dict[str, Any]:
    return {
        "class": one.kind.value,
        "partition": one.row.partition,
        "window_start_us": one.row.key.window_start_us,
        "group": {g.name: value for g, value in zip(view.stored_groups, one.row.key.group, strict=True)},
        "cells": one.cells,
        "live": _cells(view, one.row.live),
        "changelog": _cells(view, one.row.changelog),
        "recomputed": _cells(view, one.row.recomputed),
        **_extents(one.row),
        "record_count": one.record_count,
        "runs": [asdict(run) for run in one.runs],
        "records": [_witness(view, witness, one.changes) for witness in one.records],
        "unexplained_cells": one.unexplained,
        "why": one.why,
        "blocks": [block.told(view.source) for block in one.blocks],
    }


def _witness(view: View, witness: d.Witness, changes: Mapping[int, int]) -> dict[str, Any]:
    record = witness.record
    origin = Origin(view.source.topic(record.topic).number, record.partition, record.offset)
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "id": record.values[view.source.id],
        "fate": witness.fate.value,
        "times": changes[pack(origin)],
        "contribution": _cells(view, contribution(view, record)),
    }


def _cells(view: View, cells: Cells | None) -> dict[str, int] | None:
    """By name; without what a cluster's row has behind those of the view."""
    return None if cells is None else dict(zip(view.cells, cells[: len(view.cells)], strict=True))


def _extents(row: d.ComparedRow) -> dict[str, Any]:
    """Of rows that merge those that each side has there."""
    if not isinstance(row, RowCluster):
        return {}
    sides = zip(("live", "changelog", "recomputed"), row.extents, strict=True)
    return {"rows": {side: [one._asdict() for one in extents] for side, extents in sides}}

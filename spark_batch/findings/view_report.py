"""What a run found of one view. docs/reconciliation.md lists the fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from app.base.files.verdicts import Verdict
from app.domain import difference as d
from app.domain.contribution import contribution
from app.domain.corrections.finals import FinalSides
from app.domain.corrections.repair import RepairPlan, plan_repairs
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import Origin, pack
from app.domain.naming.clusters import RowCluster
from app.domain.naming.gathered import NamedRun
from app.domain.naming.row_difference import RowDifference
from app.domain.obeyed import closed_to_us
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from spark_batch.findings.completeness import Completeness
from spark_batch.findings.finals import ComparedFinals
from spark_batch.findings.third import ThirdFound
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry


@dataclass
class ViewReport:
    """One view: its cut, what was compared, what differs. `differing_rows` beyond those named are residual.

    `corrections`: how many were folded in. `runs`: the records of all differences, told together. `completeness`: what
    the view should be, if that was asked. `finals`: of rows that have left the tables, if any have. `finals_of_rows`:
    those that rows which differ were merged into. `third`: against the third opinion, if that was asked and is there.
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
    finals: ComparedFinals | None = None
    finals_of_rows: Mapping[RowKey, FinalSides] = field(default_factory=dict)
    third: ThirdFound | None = None

    @property
    def name(self) -> str:
        return self.view.name

    @property
    def has_windows(self) -> bool:
        """Whether there was a row to compare, or a final of one that has left."""
        return bool(self.live_rows or self.recomputed_rows or (self.finals is not None and self.finals.compared))

    @property
    def ledger_faults(self) -> list[LedgerEntry]:
        return [entry for entry in self.ledger if entry.differs]

    @property
    def residual(self) -> int:
        """Differences that no listed record explains; must be 0."""
        of_finals = 0 if self.finals is None else self.finals.residual
        of_rows = sum(one.is_residual for one in self.differences) + self.differing_rows - self.named_rows
        return of_rows + of_finals + self.unlike_third

    @cached_property
    def repairs(self) -> RepairPlan:
        """How the rows that differ can be set right, as far as they were looked into."""
        markers = {cut.partition: cut.marker for cut in self.cuts}
        return plan_repairs(self.view, markers, self.differences, self.finals_of_rows)

    @property
    def final_to_us(self) -> int:
        """Windows that had ended by then take no more records, in any task; NO_WATERMARK if none is closed."""
        return closed_to_us(self.view, (cut.marker for cut in self.cuts))

    @property
    def is_right(self) -> bool:
        return self.has_right_rows and (self.finals is None or not self.finals.differing) and not self.unlike_third

    @property
    def unlike_third(self) -> int:
        """Rows of the third opinion that its records do not explain."""
        return 0 if self.third is None else self.third.unexplained_rows

    @property
    def has_right_rows(self) -> bool:
        """Whether tables and ledgers are right, whatever was published once."""
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
            "final_to_us": None if self.final_to_us == NO_WATERMARK else self.final_to_us,
            "corrections": self.corrections,
            "differing_rows": self.differing_rows,
            "classes": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
            "residual": self.residual,
            "runs": [{"class": one.kind.value, **asdict(one.run), "row_count": one.row_count} for one in self.runs],
            "differences": [_difference(self.view, one) for one in self.differences],
            "finals": None if self.finals is None else self.finals.as_json(self.view),
            "repairs": {
                "rows": len(self.repairs.repairs),
                "left": {why.value: rows for why, rows in self.repairs.left.items()},
                "finals": self.repairs.finals._asdict(),
            },
            "ledger": [asdict(entry) | {"differs": entry.differs} for entry in self.ledger],
            **({} if self.completeness is None else {"completeness": self.completeness.as_json(self.view)}),
            **({} if self.third is None else {"third": self.third.as_json(self.view)}),
        }


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

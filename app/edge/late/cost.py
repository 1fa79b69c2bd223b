"""What grace costs: how many records a view refused for lateness, and how they differ from those it kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.codecs.avro.schema import Schemas
from app.domain.contribution import contribution
from app.domain.marker import Fates
from app.domain.measures.contract import Typical
from app.domain.records import Record
from app.domain.view import View
from app.edge.late.mending import usable
from app.edge.late.refused import RefusedRecord
from app.edge.late.standing import Outcomes, Task

Totals = Mapping[str, int]
"""Sums over rows by cell: of those cells that add up."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What is typical for a measure of the kept and of the late records, in the unit of its column; None where no
    record had a value."""

    measure: str
    column: str | None
    kept: Typical | None
    late: Typical | None


@dataclass(frozen=True, slots=True)
class Cost:
    """One view's: `applied` and `late` from the ledgers; `added` of the late ones came back by corrections.

    What was kept is what the tables hold now: rows that have expired are not in it, records added are.
    """

    view: View
    applied: int
    late: int
    added: int
    measures: Sequence[Compared]

    @property
    def share(self) -> float | None:
        """Late ones among all that the view could have taken."""
        return self.late / (self.applied + self.late) if self.applied + self.late else None

    def as_json(self) -> dict[str, Any]:
        return {
            "view": self.view.name,
            "version": self.view.version,
            "grace_seconds": self.view.grace_seconds,
            "applied": self.applied,
            "late": self.late,
            "late_share": self.share,
            "added_since": self.added,
            "measures": [
                {"measure": m.measure, "column": m.column, "kept": m.kept, "late": m.late} for m in self.measures
            ],
        }


def cost(
    view: View, tasks: Sequence[Task], outcomes: Outcomes, refused: Iterable[RefusedRecord], schemas: Schemas
) -> Cost:
    """Of all `tasks` of the view; `refused` are the late records, those of other versions among them."""
    fates = [fates for task in tasks for fates in task.marker.views[view.name].fates.values()]
    together = Fates(sum(f.applied for f in fates), sum(f.late for f in fates))
    added = sum(len(outcomes.added(view, task.marker)) for task in tasks)
    kept = _summed(view, (task.sums for task in tasks))
    late = _summed(view, _contributions(view, refused, schemas))
    return Cost(view, together.applied, together.late, added, list(_compared(view, kept, late)))


def _contributions(view: View, refused: Iterable[RefusedRecord], schemas: Schemas) -> Iterator[Totals]:
    """What the records that this version refused would have added, each once."""
    records = {r.place: r for r in refused if view.version in r.views.values()}
    for one in records.values():
        record = usable(view.source, one, schemas)
        if isinstance(record, Record):
            yield dict(zip(view.cells, contribution(view, record), strict=True))


def _summed(view: View, rows: Iterable[Totals]) -> Totals:
    totals = dict.fromkeys(view.cells, 0)
    for row in rows:
        for name, number in row.items():
            totals[name] += number
    return totals


def _compared(view: View, kept: Totals, late: Totals) -> Iterator[Compared]:
    for measure in view.measures:
        if measure.adds_up:
            yield Compared(measure.name, measure.column, measure.typical(kept), measure.typical(late))

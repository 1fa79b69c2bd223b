"""What a run found between a view and its third opinion. docs/reconciliation.md lists the fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.domain.records import Place
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from spark_batch.stored.cut import Span


class OneSided(StrEnum):
    """Which of the two has a record in a row."""

    HERE = "not_in_third"
    """The view; by the third opinion's watermark it came late."""
    THERE = "only_in_third"
    """The third opinion; by the view's it came late, or before the view began."""


@dataclass(frozen=True, slots=True)
class OneSidedRecord:
    """A record that only one of the two counts, and the row that it is of."""

    side: OneSided
    place: Place
    id: Any
    key: RowKey


@dataclass(frozen=True, slots=True)
class UnexplainedRow:
    """A row of the third opinion that is not what its records make; None where a side has none."""

    partition: int
    key: RowKey
    third: Cells | None
    recomputed: Cells | None


@dataclass(frozen=True)
class ThirdFound:
    """Compared as of a `batch` of the query, the newest that the cut covers, over the offsets of `spans`.

    `differing_rows` are explained by `one_sided` records, the first of which are `records`, but for `unexplained_rows`,
    the first of which are `unexplained`. `why_not`: nothing was compared, and why.
    """

    batch: int = -1
    spans: Sequence[Span] = ()
    rows: int = 0
    third_rows: int = 0
    differing_rows: int = 0
    one_sided: int = 0
    records: Sequence[OneSidedRecord] = ()
    unexplained_rows: int = 0
    unexplained: Sequence[UnexplainedRow] = ()
    why_not: str | None = None

    def as_json(self, view: View) -> dict[str, Any]:
        spans = [
            {"topic": s.topic, "partition": s.partition, "start_offset": s.start, "next_offset": s.end}
            for s in self.spans
        ]
        return {
            "why_not": self.why_not,
            "batch": None if self.why_not else self.batch,
            "inputs": spans,
            "rows": self.rows,
            "third_rows": self.third_rows,
            "differing_rows": self.differing_rows,
            "one_sided": self.one_sided,
            "records": [_record(view, one) for one in self.records],
            "residual": self.unexplained_rows,
            "unexplained": [_row(view, one) for one in self.unexplained],
        }


def _record(view: View, one: OneSidedRecord) -> dict[str, Any]:
    return {"side": one.side.value, **one.place._asdict(), "id": one.id, **_key(view, one.key)}


def _row(view: View, one: UnexplainedRow) -> dict[str, Any]:
    sides = {"third": _cells(view, one.third), "recomputed": _cells(view, one.recomputed)}
    return {"task": one.partition, **_key(view, one.key), **sides}


def _key(view: View, key: RowKey) -> dict[str, Any]:
    group = {group.name: value for group, value in zip(view.stored_groups, key.group, strict=True)}
    return {"window_start_us": key.window_start_us, "group": group}


def _cells(view: View, cells: Cells | None) -> dict[str, int] | None:
    return None if cells is None else dict(zip(view.cells, cells, strict=True))

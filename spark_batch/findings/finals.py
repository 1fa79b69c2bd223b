"""What a run found of the finals of windows that have left the tables. docs/reconciliation.md lists the fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.difference import DifferenceKind
from app.domain.records import Place
from app.domain.rows import Cells, RowKey
from app.domain.view import View


@dataclass(frozen=True, slots=True)
class FinalDifference:
    """A final that is not what the records give; None where a side has none."""

    kind: DifferenceKind
    key: RowKey
    place: Place | None
    published: Cells | None
    recomputed: Cells | None


@dataclass(frozen=True)
class ComparedFinals:
    """Of windows that some task holds no rows of any more, up to `to_us`: how many finals were `compared` with what the
    records give, one of each window and group.

    Not compared: `corrected`, where a correction changed a row, and the final is another and may yet be published
    again, or was not to be any more; `gone`, where a topic has let records go. `repeated`: published again, alike.
    """

    to_us: int
    compared: int
    corrected: int
    gone: int
    repeated: int
    counts: Mapping[DifferenceKind, int]
    differences: Sequence[FinalDifference]

    @property
    def differing(self) -> int:
        return sum(self.counts.values())

    @property
    def residual(self) -> int:
        """Of which no record tells why: all but those that are not there."""
        return self.differing - self.counts.get(DifferenceKind.LOST, 0)

    def as_json(self, view: View) -> dict[str, Any]:
        return {
            "to_us": self.to_us,
            "compared": self.compared,
            "corrected": self.corrected,
            "gone": self.gone,
            "repeated": self.repeated,
            "classes": {kind.value: count for kind, count in self.counts.items()},
            "differences": [_difference(view, one) for one in self.differences],
        }


def _difference(view: View, one: FinalDifference) -> dict[str, Any]:
    return {
        "class": one.kind.value,
        "window_start_us": one.key.window_start_us,
        "group": {group.name: value for group, value in zip(view.groups, one.key.group, strict=True)},
        "place": None if one.place is None else one.place._asdict(),
        "published": _cells(view, one.published),
        "recomputed": _cells(view, one.recomputed),
    }


def _cells(view: View, cells: Cells | None) -> dict[str, int] | None:
    """By name; as many as there are, as anybody may have written what was published."""
    return None if cells is None else dict(zip(view.cells, cells, strict=False))

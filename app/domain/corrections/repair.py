"""Repair: the corrections that set rows which differ to what their records make them, and why a row is left alone
(rules 23, 25).

What is repaired is a fault of processing that was explained to the record, and a row that was changed where it is
stored, behind a task that applied what it should have. Where table and changelog differ, the right one is kept; code
that is wrong is mended, and the view built anew; what is unexplained is looked at first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from app.domain.corrections.correction import Correction, Refusal, why_not_applied
from app.domain.corrections.finals import FinalSides, final_keys, finals_held
from app.domain.difference import DifferenceKind, RowPlace
from app.domain.marker import Marker
from app.domain.naming.row_difference import RowDifference
from app.domain.obeyed import lowest_seen_us
from app.domain.rows import RowKey
from app.domain.view import View

REPAIRED = frozenset({DifferenceKind.LOST, DifferenceKind.DOUBLED, DifferenceKind.LATE_APPLIED, DifferenceKind.ALTERED})


class Unrepaired(StrEnum):
    """Why a row that differs is not repaired; the first that applies, in this order."""

    UNEXPLAINED = "unexplained"
    STORE = "store"
    CHANGELOG = "changelog"
    BOTH = "both"
    LOGIC = "logic"
    ALL_TIME = "all_time"
    MERGING = "merging"
    OPEN = "open"
    EXPIRED = "expired"


REMEDIES: Mapping[Unrepaired, str] = {
    Unrepaired.UNEXPLAINED: "no listed record explains it: look at it first",
    Unrepaired.STORE: "the changelog is right, the live table is not: start the worker again, it reads it back; a row "
    "that stays so was written behind the task's last transaction: look again once records have come",
    Unrepaired.CHANGELOG: "the live table is right, the changelog is not, and would be read at the next start: "
    "stop the worker, then flagfall rebuild, then start it",
    Unrepaired.BOTH: "live table and changelog differ, and neither is right: flagfall rebuild makes them anew",
    Unrepaired.LOGIC: "the worker's code makes it so: mend the code, then build the view anew",
    Unrepaired.ALL_TIME: "an all-time row is repaired by building the view anew: flagfall rebuild",
    Unrepaired.MERGING: "sessions are repaired by building the view anew: flagfall rebuild",
    Unrepaired.OPEN: "records may still change it: again when every watermark has closed the window",
    Unrepaired.EXPIRED: "it has left the table",
}


class Repair(NamedTuple):
    """A correction, and the task whose row it sets."""

    partition: int
    correction: Correction


class RepairedFinals(NamedTuple):
    """Of windows whose rows are set right, how many finals are published `again`, how many are `right` as they are, and
    of how many it is `unclear` what they hold: these are left."""

    again: int = 0
    right: int = 0
    unclear: int = 0


@dataclass(frozen=True)
class RepairPlan:
    """Of one view. `left`: how many rows are left alone, by why."""

    repairs: Sequence[Repair] = ()
    left: Mapping[Unrepaired, int] = field(default_factory=dict)
    finals: RepairedFinals = field(default_factory=RepairedFinals)


def plan_repairs(
    view: View,
    markers: Mapping[int, Marker],
    found: Iterable[RowDifference],
    finals: Mapping[RowKey, FinalSides] = MappingProxyType({}),
) -> RepairPlan:
    """How to repair the rows that differ; `markers`: of the tasks at the position at which they were compared;
    `finals`: those of their windows that were published. Of which run the corrections are is for the sender to say.

    Rows that change until the task takes its correction are refused by it (`moved_on`): nothing is set that was not
    looked at.
    """
    by_row: dict[RowPlace, list[RowDifference]] = {}
    for one in found:
        by_row.setdefault(one.row.place, []).append(one)
    held = finals_held(view, [differences[0].row for differences in by_row.values()], finals)
    repairs, left = list[Repair](), Counter[Unrepaired]()
    for (partition, key), differences in by_row.items():
        row = differences[0].row
        right = tuple(held.right.get(row.place, ()))
        correction = Correction("", view.name, view.version, key, row.live, row.recomputed, right_finals=right)
        why = _why_never(view, differences) or _why_not_now(view, markers[partition], correction)
        if why is None:
            repairs.append(Repair(partition, correction))
        else:
            left[why] += 1
    return RepairPlan(repairs, left, _repaired_finals(view, repairs, finals, held.unclear))


def _repaired_finals(
    view: View, repairs: Sequence[Repair], finals: Mapping[RowKey, FinalSides], unclear: Collection[RowKey]
) -> RepairedFinals:
    touched, again = set[RowKey](), set[RowKey]()
    for _, correction in repairs:
        keys = {key for key in final_keys(view, correction.key) if key in finals}
        touched |= keys
        again |= {key for key in keys if key.window_start_us not in correction.right_finals}
    return RepairedFinals(len(again), len(touched - again - {*unclear}), len(touched.intersection(unclear)))


def _why_never(view: View, differences: Sequence[RowDifference]) -> Unrepaired | None:
    """Why the row cannot be set by a correction at all."""
    kinds, row = {one.kind for one in differences}, differences[0].row
    if row.live != row.changelog:
        rights = {row.changelog: Unrepaired.STORE, row.live: Unrepaired.CHANGELOG}
        return rights.get(row.recomputed, Unrepaired.BOTH)
    if DifferenceKind.LOGIC in kinds:
        return Unrepaired.LOGIC
    is_explained = not any(one.is_residual for one in differences) and kinds <= REPAIRED
    if not is_explained and kinds != {DifferenceKind.STORE}:  # by its blocks the task applied what it should have
        return Unrepaired.UNEXPLAINED
    if not view.window.ends:
        return Unrepaired.ALL_TIME
    return Unrepaired.MERGING if view.window.merges else None


def _why_not_now(view: View, marker: Marker, correction: Correction) -> Unrepaired | None:
    expired_to_us = marker.views[view.name].expired_to_us
    match why_not_applied(view, correction, correction.expected, lowest_seen_us(view, marker), expired_to_us):
        case Refusal.OPEN:
            return Unrepaired.OPEN
        case Refusal.EXPIRED:
            return Unrepaired.EXPIRED
        case _:
            return None

"""Corrections: the whole new row of a window that can no longer change, compared and set (rule 23)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from app.domain.fingerprint import INT64_MAX, INT64_MIN, MAX_OFFSET, Origin, mix, pack, signed
from app.domain.records import Place, Value
from app.domain.rows import Cells, RowKey, end_of
from app.domain.source import MAX_TEXT_BYTES, Column, Kind
from app.domain.view import FIRST_WINDOW, View

_FIRST_WINDOW = Column(FIRST_WINDOW.name, Kind.INSTANT, nullable=False)

FARTHEST_US = 1 << 62
"""No window begins or ends farther from the epoch: its end plus grace must fit into 64 bits."""


@dataclass(frozen=True, slots=True)
class Correction:
    """Of run `run`: put `row` where `expected` stands; None for no row.

    `adds` names the source records that `row` holds and `expected` does not, where records are re-fed. One that names
    none repairs: its row is what the records give, and what it expects is not. `right_finals`: starts of windows whose
    finals were published before the row went wrong, and hold `row` already.
    """

    run: str
    view: str
    version: str
    key: RowKey
    expected: Cells | None
    row: Cells | None
    adds: tuple[Place, ...] = ()
    right_finals: tuple[int, ...] = ()


class Refusal(StrEnum):
    """Why a correction was not applied; the first that applies, in this order."""

    UNREADABLE = "unreadable"
    NO_SUCH_VIEW = "no_such_view"
    OTHER_VERSION = "other_version"
    NOT_LIVE = "not_live"
    MISCOUNTED = "miscounted"
    ALL_TIME = "all_time"
    MERGING = "merging"
    OPEN = "open"
    EXPIRED = "expired"
    MOVED_ON = "moved_on"


def fits(view: View, correction: Correction) -> bool:
    """Whether key and rows are ones that the view could have: shapes, kinds, ranges, a window's start."""
    rows = [row for row in (correction.expected, correction.row) if row is not None]
    columns = [_FIRST_WINDOW if g is FIRST_WINDOW else view.source.by_name[g.column] for g in view.stored_groups]
    group = correction.key.group
    return (
        all(len(row) == len(view.cells) and all(map(_is_cell, row)) for row in rows)
        and len(group) == len(columns)
        and all(_is_of(column, value) for column, value in zip(columns, group, strict=True))
        and _is_window(view, correction.key, rows)
    )


def adds_up(view: View, correction: Correction, partition: int) -> bool:
    """Whether the row's count and fingerprint are the expected row's with just the records it adds, all of this task.

    True of a correction that names none: it may change what it likes. Both rows must fit the view.
    """
    if not correction.adds:
        return True
    numbers = {topic.name: topic.number for topic in view.source.topics}
    places = set(correction.adds)
    known = all(p.topic in numbers and p.partition == partition and 0 <= p.offset <= MAX_OFFSET for p in places)
    if correction.row is None or not known or len(places) < len(correction.adds):
        return False
    count, fingerprint = (correction.expected or view.neutral)[:2]
    added = sum(mix(pack(Origin(numbers[p.topic], p.partition, p.offset))) for p in places)
    return correction.row[:2] == (count + len(places), signed(fingerprint + added))


def why_not_applied(
    view: View, correction: Correction, stored: Cells | None, watermark_us: int, expired_to_us: int | None
) -> Refusal | None:
    """Why the correction may not be applied to the row that stands there now, or None.

    `watermark_us` is the lowest of the task's topics: only what every one of them has closed is corrected, so that
    no record and no correction ever race. Applied twice, in another order, or late, it meets a row it did not
    expect and changes nothing.
    """
    if correction.version != view.version:
        return Refusal.OTHER_VERSION
    if not view.window.ends or correction.key.window_start_us is None:
        return Refusal.ALL_TIME
    end_us = _ends_at_us(view, correction)
    if end_us + view.grace_us > watermark_us:
        return Refusal.OPEN
    is_gone = expired_to_us is not None and end_us <= expired_to_us
    if is_gone or end_us + view.grace_us + view.retention_us <= watermark_us:  # it would leave with the next that do
        return Refusal.EXPIRED
    return None if stored == correction.expected else Refusal.MOVED_ON


def _is_cell(cell: object) -> bool:
    return type(cell) is int and INT64_MIN <= cell <= INT64_MAX


def _is_of(column: Column, value: Value) -> bool:
    """Whether the column can hold the value; a bound of the column that changed since is no reason to refuse."""
    if value is None:
        return column.nullable
    if column.kind is Kind.TEXT:
        return isinstance(value, str) and len(value.encode()) <= MAX_TEXT_BYTES
    if column.kind is Kind.FLAG:
        return isinstance(value, bool) or value in (0, 1)
    return type(value) is int and INT64_MIN < value <= INT64_MAX  # the least stands for null


def _is_window(view: View, key: RowKey, rows: list[Cells]) -> bool:
    if not view.window.ends:
        return True  # refused for being one, whatever the start
    start_us = key.window_start_us
    if type(start_us) is not int or abs(start_us) >= FARTHEST_US:
        return False
    if view.window.merges:
        return all(start_us <= row[view.last_at] < FARTHEST_US for row in rows)
    if overlap := view.window.overlap:
        first_us = key.group[0]
        assert isinstance(first_us, int)  # as its column says
        windows = overlap.windows_of(start_us, overlap.first_ending_after(start_us))
        return first_us in windows and view.window.is_start(start_us)
    return view.window.is_start(start_us)


def _ends_at_us(view: View, correction: Correction) -> int:
    start_us = correction.key.window_start_us
    assert start_us is not None  # all-time views were refused
    rows = (cells for cells in (correction.expected, correction.row) if cells is not None)
    ends = (end_of(view, correction.key, cells) for cells in rows)
    return max(ends, default=view.window.end(start_us, start_us))

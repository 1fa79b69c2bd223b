"""Re-feeding: the corrections that add records which a view refused, and why a record cannot be added (rule 23)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from app.domain.contribution import contribution, key_of
from app.domain.corrections.correction import Correction, Refusal, why_not_applied
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import LIVE, Fates, Marker
from app.domain.obeyed import lowest_seen_us
from app.domain.records import Place, Record
from app.domain.rows import Cells, RowKey, merge_rows
from app.domain.source import with_derived
from app.domain.view import View

ADDED_AT_ONCE = 1_000
"""Records that one correction adds at most; those of a row that gets more follow one another."""


class Left(StrEnum):
    """Why a record is not added to a view; the first that applies, in this order."""

    ORIGINAL_GONE = "original_gone"
    ALREADY_ADDED = "already_added"
    ALL_TIME = "all_time"
    MERGING = "session"
    OVERLAPPING = "hopping"
    NOT_LIVE = "not_live"
    BEFORE_START = "before_start"
    OTHER_LEDGER = "other_ledger"
    OUT_OF_SCOPE = "out_of_scope"
    OPEN = "open"
    EXPIRED = "expired"


WORDS: Mapping[str, str] = {
    Left.ORIGINAL_GONE: "it was too large to be set aside whole, and its own topic does not have it any more",
    Left.ALREADY_ADDED: "a correction has added it before",
    Left.ALL_TIME: "an all-time row never closes, and only closed rows are corrected",
    Left.MERGING: "a record may make sessions one, which no correction of a single row can say",
    Left.OVERLAPPING: "which of its windows a record belongs to depends on when it came, which no correction can say",
    Left.NOT_LIVE: "the view is still being built; again when it is live",
    Left.BEFORE_START: "it lies before the first offset that the view covers",
    Left.OTHER_LEDGER: "the view was built after the record was quarantined, and may hold it",
    Left.OUT_OF_SCOPE: "it has no instant to place it by, or is of those that the view leaves out",
    Left.OPEN: "a record may still change its row; again when every watermark has closed the window",
    Left.EXPIRED: "its row has left the table",
    Refusal.MOVED_ON: "another row stands there than the correction expected",
}
"""What to tell of a reason; those that are not here speak for themselves."""


class Fed(NamedTuple):
    """A record to be added. `was_late`: the view's own version said that it was late; otherwise it was quarantined."""

    record: Record
    was_late: bool


class NotAdded(NamedTuple):
    """A record that no correction can add."""

    place: Place
    why: Left


@dataclass(frozen=True)
class ViewStanding:
    """Where one task stands with a view: rows (at least those asked about), marker, and what corrections have added."""

    marker: Marker
    rows: Mapping[RowKey, Cells]
    added: frozenset[Place]


@dataclass(frozen=True)
class Plan:
    """`corrections` belong into the task's corrections topic in this order; each names the records that it adds."""

    corrections: Sequence[Correction]
    not_added: Sequence[NotAdded]


def plan_refeed(view: View, standing: ViewStanding, fed: Iterable[Fed], run: str) -> Plan:
    """How to add these records of one task; each counts once, though it be named twice.

    What the plan rests on may have changed when the task takes its corrections: then the rows that they expect are
    gone, and they are refused.
    """
    not_added, by_row = list[NotAdded](), defaultdict[RowKey, list[Record]](list)
    for place, one in sorted({place_of(one.record): one for one in fed}.items()):
        key = key_of(view, with_derived(view.source, one.record.values))
        why = _why_not(view, standing, place, was_late=one.was_late)
        if why is not None or key is None:
            not_added.append(NotAdded(place, why or Left.OUT_OF_SCOPE))
        else:
            by_row[_plain(key)].append(one.record)
    corrections = list[Correction]()
    for key, added in by_row.items():
        why = _why_not_row(view, standing, key)
        if why is None:
            corrections += _corrections(view, key, standing.rows.get(key), added, run)
        else:
            not_added += [NotAdded(place_of(record), why) for record in added]
    return Plan(corrections, not_added)


def place_of(record: Record) -> Place:
    return Place(record.topic, record.partition, record.offset)


def _why_not(view: View, standing: ViewStanding, place: Place, *, was_late: bool) -> Left | None:
    position, read = standing.marker.views[view.name], standing.marker.position_in(place.topic)
    if place in standing.added:
        return Left.ALREADY_ADDED
    if (not_by_rows := _not_by_rows(view)) is not None:
        return not_by_rows
    if position.state != LIVE:
        return Left.NOT_LIVE
    start = position.start.get(place.topic, 0)
    if place.offset < max(start, read.start_offset):
        return Left.BEFORE_START
    counted = position.fates.get(place.topic, Fates()).total
    if not was_late and (start > read.start_offset or counted != read.decoded):
        return Left.OTHER_LEDGER  # it was built later, by rules under which it may have used the record
    return None


def _not_by_rows(view: View) -> Left | None:
    """Why a record cannot be added to a row of the view by itself."""
    if not view.window.ends:
        return Left.ALL_TIME
    if view.window.merges:
        return Left.MERGING
    return Left.OVERLAPPING if view.window.overlap else None


def _why_not_row(view: View, standing: ViewStanding, key: RowKey) -> Left | None:
    marker, row = standing.marker, standing.rows.get(key)
    lowest_us = lowest_seen_us(view, marker)
    if lowest_us == NO_WATERMARK:
        return Left.OPEN
    asked = Correction("", view.name, view.version, key, row, row)
    match why_not_applied(view, asked, row, lowest_us, marker.views[view.name].expired_to_us):
        case Refusal.OPEN:
            return Left.OPEN
        case Refusal.EXPIRED:
            return Left.EXPIRED
        case _:
            return None


def _corrections(
    view: View, key: RowKey, stands: Cells | None, records: Sequence[Record], run: str
) -> Iterator[Correction]:
    for begin in range(0, len(records), ADDED_AT_ONCE):
        some = records[begin : begin + ADDED_AT_ONCE]
        row = merge_rows(view, [stands or view.neutral, *(contribution(view, record) for record in some)])
        adds = tuple(place_of(record) for record in some)
        yield Correction(run, view.name, view.version, key, stands, row, adds)
        stands = row


def _plain(key: RowKey) -> RowKey:
    """Flags as they are stored."""
    return RowKey(key.window_start_us, tuple(int(v) if isinstance(v, bool) else v for v in key.group))

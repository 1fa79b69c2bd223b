"""What a request for rows asks, and the parameters by which one worker asks it of another."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property

from app.domain.records import Value
from app.domain.rows import RowKey
from app.domain.source import Kind
from app.domain.view import View
from app.domain.windows.durations import to_duration
from app.domain.windows.instants import to_iso
from app.domain.windows.panes import Overlap
from app.edge.http.query import cursors
from app.edge.http.query.arrangement import AS_STORED, Among, Arrangement
from app.edge.http.query.group_values import group_text
from app.edge.http.query.instants import later
from app.edge.http.query.parameters import CURSOR, MAX_STALENESS

DEFAULT_LIMIT = 100
ALL_ROWS = 1 << 40
"""A limit that no table reaches."""


@dataclass(frozen=True)
class RowsQuery:
    """A page of a view's rows.

    Windows start in `[from_us, until_us)`, None is open. `window_us` is a multiple of a tumbling view's pane; None
    where windows are as the view says. They begin at each other's ends, or every `step_us`, a shorter multiple. With
    `last_us` there is one window, of that length, which ends at `until_us`; None is the lowest watermark.
    `stored_from_us`: rows that are stored under earlier starts are left out, whatever windows they are in.
    `after` is the place of the last key of the page before this one, in the order asked for; of ranked rows the key is
    what they are ranked among, and the rank. `max_staleness_us`: how old rows may be of which nobody knows whether they
    have changed since.
    """

    view: View
    from_us: int | None = None
    until_us: int | None = None
    window_us: int | None = None
    groups: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    limit: int = DEFAULT_LIMIT
    newest_first: bool = False
    after: RowKey | None = None
    partial_allowed: bool = False
    last_us: int | None = None
    arrangement: Arrangement = AS_STORED
    stored_from_us: int | None = None
    max_staleness_us: int | None = None
    step_us: int | None = None

    @cached_property
    def is_folded(self) -> bool:
        """Whether windows are made of several panes when they are asked for."""
        panes = self.view.window.panes
        return panes is not None and (self.last_us is not None or self.window_us != panes.size_us)

    @cached_property
    def overlap(self) -> Overlap | None:
        """How windows overlap, where they do: as the view says, or as it is asked for."""
        panes = self.view.window.panes
        if panes is None or self.window_us is None or self.step_us is None:
            return self.view.window.overlap
        return Overlap(self.window_us, self.step_us, panes.offset_us)

    @property
    def tiled_us(self) -> int | None:
        """How long windows are that are made of panes and do not overlap."""
        return None if self.overlap else self.window_us

    @cached_property
    def aligned_us(self) -> int:
        """Where some window of `window_us` begins."""
        if self.last_us is not None:
            return self.until_us or 0
        return panes.offset_us if (panes := self.view.window.panes) else 0

    @cached_property
    def stored_bounds_us(self) -> tuple[int | None, int | None]:
        """Which panes to read: windows that start in `[from, to)`, whole, not before the cursor's, and of what is
        stored from some start on that."""
        size, from_us, until_us, at = self.tiled_us, self.from_us, self.until_us, self.aligned_us
        if size is None:
            size = 1  # windows are what is stored: any that starts in between
        from_us = None if from_us is None else -(-(from_us - at) // size) * size + at
        until_us = None if until_us is None else -(-(until_us - at) // size) * size + at
        if self.after is not None and self.after.window_start_us is not None:
            if self.newest_first:
                last = self.after.window_start_us + size
                until_us = last if until_us is None else min(until_us, last)
            else:
                from_us = later(self.after.window_start_us, from_us)
        return later(self.stored_from_us, from_us), until_us

    def until(self, watermark_us: int) -> RowsQuery:
        """The query over the last panes that end by a watermark, in one window."""
        assert self.last_us is not None
        until_us = self.view.window.start(watermark_us)
        return replace(self, from_us=until_us - self.last_us, until_us=until_us)

    @property
    def key_shape(self) -> cursors.KeyShape:
        """What cursors hold."""
        columns, groups = self.view.source.by_name, self.arrangement.groups_of(self.view)
        texts = tuple(columns[group.column].kind is Kind.TEXT for group in groups)
        if (ranking := self.arrangement.ranking) is None:
            return cursors.KeyShape(self.view, self.view.window.ends, texts)
        ranked_by = (*(texts if ranking.among is Among.GROUP else ()), False)
        return cursors.KeyShape(self.view, ranking.among is Among.WINDOW, ranked_by)

    @property
    def filters_hash(self) -> str:
        """What a cursor belongs to: all that decides which rows there are and in which order."""
        told = [
            self.view.name,
            self.view.version,
            self.from_us,
            self.until_us,
            self.window_us,
            self.newest_first,
            *([] if self.last_us is None else [self.last_us]),
            *([] if self.step_us is None else [f"every {self.step_us}"]),
            *self.arrangement.parameters(),
        ]
        text = json.dumps([*told, sorted((n, sorted(map(repr, v))) for n, v in self.groups.items())])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def cursor_after(self, place: RowKey) -> str:
        """The cursor of the page that follows a row, whose key has this place."""
        return cursors.encode(self.filters_hash, place)

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters from which `read_query` makes this query again; none is a limit that no table reaches."""
        told = [(name, group_text(v)) for name, values in self.groups.items() for v in values]
        if self.from_us is not None and self.last_us is None:
            told.append(("from", to_iso(self.from_us)))
        if self.until_us is not None:
            told.append(("to", to_iso(self.until_us)))
        if self.last_us is not None:
            told.append(("last", to_duration(self.last_us)))
        elif self.window_us is not None:
            told.append(("window", to_duration(self.window_us)))
        if self.step_us is not None:
            told.append(("step", to_duration(self.step_us)))
        if self.after is not None:
            told.append((CURSOR, self.cursor_after(self.after)))
        if self.arrangement.orders_windows:
            told.append(("order", "desc" if self.newest_first else "asc"))
        if self.max_staleness_us is not None:
            told.append((MAX_STALENESS, to_duration(self.max_staleness_us)))
        limit = [("limit", str(self.limit))] if self.limit < ALL_ROWS else []
        return [*told, *self.arrangement.parameters(), *limit]


def no_rows_query(view: View, *, partial_allowed: bool, max_staleness_us: int | None = None) -> RowsQuery:
    """Asks where each task stands: over no time, so that the parts carry no rows (all-time views: two)."""
    query = RowsQuery(view, limit=1, partial_allowed=partial_allowed, max_staleness_us=max_staleness_us)
    if not view.window.ends:
        return query
    pane_us = panes.size_us if (panes := view.window.panes) else None
    return replace(query, from_us=0, until_us=0, window_us=pane_us)

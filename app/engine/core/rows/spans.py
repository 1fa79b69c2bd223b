"""Rows that merge, by group: where each begins and ends, found by what they might touch."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from app.domain.view import View
from app.engine.core.rows.state import Rows

SpanGroup = tuple[object, ...]


class RowSpan(NamedTuple):
    """First and last record of a row, both inclusive."""

    start_us: int
    end_us: int


class Spans:
    """Disjoint spans per group, none touching another, in order."""

    def __init__(self) -> None:
        self._held: dict[SpanGroup, list[RowSpan]] = defaultdict(list)

    def touching(self, group: SpanGroup, start_us: int, end_us: int) -> list[RowSpan]:
        """Spans that share an instant with `[start_us, end_us]`."""
        held = self._held.get(group, [])
        at = bisect_left(held, (start_us,))
        if at and held[at - 1].end_us >= start_us:
            at -= 1
        until = at
        while until < len(held) and held[until].start_us <= end_us:
            until += 1
        return held[at:until]

    def add(self, spans: Iterable[tuple[SpanGroup, RowSpan]]) -> None:
        for group, span in spans:
            insort(self._held[group], span)

    def remove(self, spans: Iterable[tuple[SpanGroup, RowSpan]]) -> None:
        """ValueError for one that is not here."""
        for group, span in spans:
            held = self._held[group]
            at = bisect_left(held, span)
            if held[at : at + 1] != [span]:
                raise ValueError(f"{span} of {group} is not among the spans")
            del held[at]
            if not held:
                del self._held[group]


def spans_of(view: View, rows: Rows) -> Iterator[tuple[SpanGroup, RowSpan]]:
    """Group and span of each row of a view whose rows merge."""
    if rows.windows is None:
        raise TypeError(f"rows of {view.name} have no start")
    starts, ends = rows.windows.tolist(), rows.cells[:, view.last_at].tolist()
    for group, start, end in zip(groups_of(rows), starts, ends, strict=True):
        yield group, RowSpan(start, end)


def groups_of(rows: Rows) -> list[SpanGroup]:
    """Each row's group as a tuple, numbers as they are held."""
    return list(zip(*(held.tolist() for held in rows.groups), strict=True)) if rows.groups else [()] * len(rows)

"""Rows that merge, as they are compared and named (rule 19): one record more or less may make two of them one, so those
of a group that touch are looked at together, on whichever side they are.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import NamedTuple

from app.domain.difference import ComparedRow, RowPlace
from app.domain.measures.parts import Op, Part, Take
from app.domain.records import Record, Value, as_integer
from app.domain.rows import Cells, RowKey, end_of, last_of, merge_rows
from app.domain.source import with_derived
from app.domain.view import View

ROWS = "rows"
"""Behind a view's own cells: differs where the rows of a cluster do, be they merged the same."""
SideRows = Mapping[RowKey, Cells]


class RowExtent(NamedTuple):
    """A row's: its start, and its exclusive end."""

    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True)
class RowCluster(ComparedRow):
    """Rows of a task and group that touch, each side's as one row of the `clustered` view, under the earliest start.

    `last_us`: the instant of their last record. Spans of the rows stand side by side: live, changelog, recomputed.
    """

    last_us: int
    extents: tuple[tuple[RowExtent, ...], ...]


class ClusteredView(View):
    """A view whose rows are clusters of another's."""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return (*super().parts, Part(ROWS, Op.ADD, Take.ONE))


def clustered(view: View) -> View:
    """The view of the clusters, where rows merge; else the view."""
    return ClusteredView(**{one.name: getattr(view, one.name) for one in fields(view)}) if view.window.merges else view


def cluster_cells(view: View, rows: SideRows) -> Cells:
    """Rows of one side, at least one, as one."""
    return (*merge_rows(view, rows.values()), _digest(rows))


class RowClusters:
    """Those of rows that differ: `all` of them, those of a group by start."""

    def __init__(self, view: View, rows: Iterable[ComparedRow]) -> None:
        self.view = view
        by_group = defaultdict[tuple[int, tuple[Value, ...]], list[ComparedRow]](list)
        for row in sorted(rows, key=lambda row: as_integer(row.key.window_start_us)):
            by_group[row.partition, row.key.group].append(row)
        self._of_group = {place: [*_clusters(view, of_group)] for place, of_group in by_group.items()}
        self.all = [cluster for of_group in self._of_group.values() for cluster in of_group]

    def place_of(self, task: int, key: RowKey) -> RowPlace | None:
        """The cluster that a row or a record of that start is in."""
        of_group = self._of_group.get((task, key.group), ())
        at = bisect_right(of_group, as_integer(key.window_start_us), key=_start_us) - 1
        if at < 0 or of_group[at].last_us < as_integer(key.window_start_us):
            return None
        return of_group[at].place

    def folded(self, rows: Iterable[tuple[RowPlace, Cells]]) -> dict[RowPlace, Cells]:
        """Rows of the view as what they are of each cluster; those that are in none are left out."""
        held = defaultdict[RowPlace, dict[RowKey, Cells]](dict)
        for (task, key), cells in rows:
            if (place := self.place_of(task, key)) is not None:
                held[place][key] = cells
        return {place: cluster_cells(self.view, of_it) for place, of_it in held.items()}

    def translated(
        self, cluster: ComparedRow, records: Sequence[Record], translator: Callable[[View, Sequence[Record]], Cells]
    ) -> Cells:
        """What a translator makes of a cluster's records, row by row of those that they make."""
        rows = {
            RowKey(start_us, cluster.key.group): translator(self.view, of_row)
            for start_us, of_row in _rows_of(self.view, records)
        }
        return cluster_cells(self.view, rows)


def _start_us(cluster: RowCluster) -> int:
    return as_integer(cluster.key.window_start_us)


def _clusters(view: View, rows: Sequence[ComparedRow]) -> Iterator[RowCluster]:
    """Of one group, by start."""
    together: list[ComparedRow] = []
    end_us = 0
    for row in rows:
        if together and as_integer(row.key.window_start_us) > end_us:
            yield _cluster(view, together)
            together = []
        own_us = max(end_of(view, row.key, cells) for cells in _sides(row) if cells is not None)
        end_us = max(end_us, own_us) if together else own_us
        together.append(row)
    if together:
        yield _cluster(view, together)


def _cluster(view: View, rows: Sequence[ComparedRow]) -> RowCluster:
    sides = [{row.key: cells for row in rows if (cells := _sides(row)[at]) is not None} for at in range(3)]
    extents = tuple(tuple(_extent(view, key, cells) for key, cells in side.items()) for side in sides)
    last_us = max(last_of(view, cells) for side in sides for cells in side.values())
    live, changelog, recomputed = (cluster_cells(view, side) if side else None for side in sides)
    return RowCluster(rows[0].partition, rows[0].key, live, changelog, recomputed, last_us, extents)


def _sides(row: ComparedRow) -> tuple[Cells | None, ...]:
    return row.live, row.changelog, row.recomputed


def _extent(view: View, key: RowKey, cells: Cells) -> RowExtent:
    return RowExtent(as_integer(key.window_start_us), end_of(view, key, cells))


def _rows_of(view: View, records: Sequence[Record]) -> Iterator[tuple[int, list[Record]]]:
    """Records of one group by the rows that they make, with the start of each."""
    placed = sorted(((_instant_us(view, record), record) for record in records), key=lambda one: one[0])
    held: list[Record] = []
    start_us = last_us = 0
    for instant_us, record in placed:
        if held and instant_us > view.window.end(start_us, last_us):
            yield start_us, held
            held = []
        start_us, last_us = start_us if held else instant_us, instant_us
        held.append(record)
    if held:
        yield start_us, held


def _instant_us(view: View, record: Record) -> int:
    assert view.window.column is not None  # where rows merge they end
    return as_integer(with_derived(view.source, record.values)[view.window.column])


def _digest(rows: SideRows) -> int:
    """64 bits over all rows of a group."""
    told = sorted((as_integer(key.window_start_us), cells) for key, cells in rows.items())
    return int.from_bytes(hashlib.blake2b(repr(told).encode(), digest_size=8).digest(), "little", signed=True)

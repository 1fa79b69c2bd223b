"""One answer from all tasks: parts of those owned here are copied, the others' asked of their owners.

What could not be had is named, with why: the caller refuses, or says that the answer is partial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from app.domain.event_time import NO_WATERMARK
from app.domain.view import View
from app.edge.http.across_tasks import AcrossTasks
from app.edge.http.context import Edge
from app.edge.http.owners import of_tasks, partitions_missing, unusable
from app.edge.http.problems import TYPES
from app.edge.http.query.parameters import STORED_FROM
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.own_parts import own_parts, stale_parts, too_much_there
from app.edge.http.rows.parts import TaskRows, decode_parts
from app.engine.core.rows.state import Rows

MANY_BYTES = 500_000
"""A longer answer is read in a thread: this takes about 5 ms."""


@dataclass(frozen=True, slots=True)
class PastRows:
    """What a history gives to an answer: rows of windows that begin before `left_below_us`, by the run that found them
    right; it has all that had ended by `final_to_us`."""

    rows: Rows
    left_below_us: int
    run_id: str
    final_to_us: int


@dataclass(frozen=True)
class Gathered(AcrossTasks[TaskRows]):
    """Parts by partition, and why each of the other partitions is missing; `past`, if the answer reaches there."""

    past: PastRows | None = None

    @property
    def stale(self) -> dict[int, float]:
        """Partitions of which something may have come since, and how long ago at most."""
        return {p: part.stale_seconds for p, part in self.parts.items() if part.stale_seconds is not None}

    def with_parts(self, parts: Iterable[TaskRows]) -> Gathered:
        """These as well, missing no more."""
        more = {part.partition: part for part in parts}
        missing = {p: why for p, why in self.missing.items() if p not in more}
        return replace(self, parts=self.parts | more, missing=missing)

    @property
    def pieces(self) -> list[Rows]:
        """Rows of all parts, and of the past."""
        parts = [self.parts[partition].rows for partition in sorted(self.parts)]
        return parts if self.past is None else [self.past.rows, *parts]

    @property
    def expired_to_us(self) -> int | None:
        """Rows that ended at or before it have left some task's table; None if none has."""
        known = [part.expired_to_us for part in self.parts.values() if part.expired_to_us is not None]
        return max(known) if known else None

    @property
    def past_below_us(self) -> int | None:
        """Rows of windows that begin before it are from the history; None if all are live."""
        return None if self.past is None else self.past.left_below_us

    def left_below_us(self, view: View) -> int | None:
        """Windows that begin before it have left some task's table, or may be cut short there; None if none has.

        Rows that merge are whole if they began later than those that left had ended: no one touched them.
        """
        expired_to_us = self.expired_to_us
        if expired_to_us is None or view.window.merges:
            return None if expired_to_us is None else expired_to_us + 1
        return view.window.ended_below(expired_to_us)

    @cached_property
    def closed_to_us(self) -> int:
        """Windows that end at or before it take no more records anywhere; NO_WATERMARK if one partition is missing."""
        closed = [state.closed_to_us for part in self.parts.values() for state in part.inputs.values()]
        return NO_WATERMARK if self.missing or not closed else min(closed)


async def gather(
    edge: Edge, query: RowsQuery, *, takes_partial: bool = True, partitions: Sequence[int] | None = None
) -> Gathered:
    """The parts of these partitions, or every one of the source, that can be had within two attempts.

    Raises the `partitions-missing` problem if some are missing and the query does not allow it, and `too-much` if a
    worker would have to fold more rows than it may, here or there. `takes_partial`: whether who asked could allow it.
    """
    asked = _AskedParts(edge, query)
    wanted = range(asked.directory.partitions) if partitions is None else partitions
    gathered = Gathered(*await of_tasks(edge, asked, wanted))
    if gathered.is_partial and query.max_staleness_us is not None:
        gathered = gathered.with_parts(stale_parts(edge, query, gathered.missing))
    if gathered.is_partial and not query.partial_allowed:
        directory = edge.directory(query.view)
        raise partitions_missing(query.view.name, directory, gathered.missing, takes_partial=takes_partial)
    return gathered


class _AskedParts:
    """The parts of a query."""

    def __init__(self, edge: Edge, query: RowsQuery) -> None:
        self._edge, self._query = edge, query
        self.directory = edge.directory(query.view)
        self.address = f"/v1/internal/views/{query.view.name}/parts"
        self.not_given = f"does not hold version {query.view.version} of it now"

    def parameters(self) -> list[tuple[str, str]]:
        stored_from_us = self._query.stored_from_us
        further = [] if stored_from_us is None else [(STORED_FROM, str(stored_from_us))]
        return [*self._query.parameters(), *further]

    async def own(self, partitions: Sequence[int]) -> Mapping[int, TaskRows]:
        return {part.partition: part for part in await own_parts(self._edge, self._query, partitions, folds_few=False)}

    async def read(self, url: str, status: int, body: bytes) -> Mapping[int, TaskRows]:
        if status == TYPES["too-much"].status:
            raise too_much_there(url, body)
        if status != 200:
            raise unusable(status)
        given = await self._edge.long_work.run(len(body) > MANY_BYTES, decode_parts, self._query, body)
        return {part.partition: part for part in given if part.version == self._query.view.version}

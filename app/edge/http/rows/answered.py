"""A question with what was had of it: from all tasks and, of windows that have left their tables, from the history; and
the window that `last` came to."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from app.domain.event_time import NO_WATERMARK
from app.domain.windows.instants import to_iso
from app.edge.http.context import Edge
from app.edge.http.past.gold_files import GoldFiles, GoldRange, GoldUnreadable
from app.edge.http.problems import Problem
from app.edge.http.query.rows_query import RowsQuery, no_rows_query
from app.edge.http.rows.gather import Gathered, PastRows, gather
from app.edge.http.rows.own_parts import too_much
from app.edge.http.rows.page_rows import folded_page
from app.engine.core.rows.state import ViewState


class Answered(NamedTuple):
    """`as_of_us`: the watermark that the query was made by, if it was; those of the parts may have risen since."""

    query: RowsQuery
    gathered: Gathered
    as_of_us: int | None = None

    @property
    def is_closed(self) -> bool:
        """Whether the query names its windows, and none of them takes a record any more."""
        _, until_us = self.query.stored_bounds_us
        if self.query.view.window.panes is None or self.query.overlap or until_us is None:
            return False
        return until_us <= self.gathered.closed_to_us


async def answered(edge: Edge, query: RowsQuery, *, takes_partial: bool = True, with_past: bool = True) -> Answered:
    """What all tasks give; of the last panes those before the lowest watermark, which is asked of all tasks first, and
    none while there is no watermark. Where the answer may be partial it is that of the tasks that are there.

    `with_past`: windows that the query names and that have left the tables are answered from the history; if that does
    not have them it is the `not-in-history` problem.
    """
    ask = partial(_with_past if with_past else _of_tables, edge, takes_partial=takes_partial)
    if query.last_us is None or query.until_us is not None:
        return Answered(query, await ask(query))
    any_of_it = no_rows_query(
        query.view, partial_allowed=query.partial_allowed, max_staleness_us=query.max_staleness_us
    )
    standing = await gather(edge, any_of_it, takes_partial=takes_partial)
    as_of_us = standing.lowest_there_us
    if as_of_us == NO_WATERMARK:
        return Answered(replace(query, until_us=0), standing)
    query = query.until(as_of_us)
    return Answered(query, await ask(query), as_of_us)


async def _with_past(edge: Edge, query: RowsQuery, *, takes_partial: bool) -> Gathered:
    """Of windows that have left some task's table none is taken from others; asked again if more leave meanwhile."""
    gathered = await _of_tables(edge, query, takes_partial=takes_partial)
    while (left_us := gathered.left_below_us(query.view)) is not None and _reaches_below(query, left_us):
        if query.view.window.merges or query.step_us is not None:
            raise not_in_history(query, left_us, "of sessions, and with `step`, the tables alone are asked")
        past = await edge.long_work.run(True, _past, edge, query, left_us)
        of_tables = replace(query, stored_from_us=left_us)
        gathered = await gather(edge, of_tables, takes_partial=takes_partial)
        if gathered.left_below_us(query.view) == left_us:
            return replace(gathered, past=past)
    return gathered


async def _of_tables(edge: Edge, query: RowsQuery, *, takes_partial: bool) -> Gathered:
    """What the tables hold of windows that have left none of them: of others some tasks would lack their part.

    Which these are is known from the question before, and asked again where it is not so any more. Raises the
    `not-in-history` problem where the query is open towards the past and ends there.
    """
    view, known = query.view, edge.left_below_us
    while True:
        left_us = known.get(view.name)
        asked = (
            query if left_us is None or view.window.merges else replace(query, stored_from_us=_whole(query, left_us))
        )
        gathered = await gather(edge, asked, takes_partial=takes_partial)
        if (known_now := gathered.left_below_us(view)) == left_us:
            break
        known[view.name] = known_now
    if left_us is not None and query.from_us is None and query.until_us is not None and query.until_us <= left_us:
        raise not_in_history(query, left_us, "the query names no first one, from which the history could be asked")
    return gathered


def _whole(query: RowsQuery, left_us: int) -> int:
    """Where the first window begins that the query asks for and that has left none of its panes behind."""
    size_us = query.tiled_us or 1
    return -(-(left_us - query.aligned_us) // size_us) * size_us + query.aligned_us


def _reaches_below(query: RowsQuery, left_us: int) -> bool:
    """Whether the query names windows that begin before it. One that is open towards the past asks for what the tables
    hold."""
    from_us, until_us = query.stored_bounds_us
    if query.from_us is None or from_us is None:
        return False
    return from_us < left_us and (until_us is None or until_us > from_us)


def _past(edge: Edge, query: RowsQuery, left_us: int) -> PastRows:
    """The page of what the history has; the `not-in-history` problem if it lacks windows that are asked for."""
    if edge.history is None:
        raise not_in_history(query, left_us, "no history is kept, as FLAGFALL_HISTORY_DIR would have it")
    view = query.view
    try:
        with GoldFiles.reading(edge.history, view):
            return _of_gold(edge, edge.history, query, left_us)
    except GoldUnreadable as error:
        raise Problem("history-unreadable", str(error)) from error


def _of_gold(edge: Edge, history: Path, query: RowsQuery, left_us: int) -> PastRows:
    view = query.view
    from_us, until_us = query.stored_bounds_us
    until_us = left_us if until_us is None else min(until_us, left_us)
    gold = GoldFiles.of(history, view)
    held_us = None if gold is None else view.window.ended_below(gold.final_to_us)
    if gold is None or held_us is None or held_us < until_us:
        has = "nothing of it yet" if held_us is None else f"so far what begins before {to_iso(held_us)}"
        raise not_in_history(query, left_us, f"the history has {has}; the next `flagfall reconcile` adds to it")
    asked = GoldRange(from_us, until_us, query.groups)
    if (rows := gold.count(asked)) > edge.limits.max_rows:
        raise too_much(query, rows, edge.limits.max_rows)
    found = gold.rows(asked) if rows else None
    page = folded_page(query, ViewState(view).select() if found is None else found)
    return PastRows(page, left_us, gold.run_id, gold.final_to_us)


def not_in_history(query: RowsQuery, left_us: int, why: str) -> Problem:
    """The problem of a query that names windows which neither the tables have nor a history."""
    detail = (
        f"Windows of {query.view.name} that begin before {to_iso(left_us)} have left the tables, and {why}. "
        f"Ask for what the tables hold: from={to_iso(left_us)}"
    )
    return Problem("not-in-history", detail, left_before=to_iso(left_us))

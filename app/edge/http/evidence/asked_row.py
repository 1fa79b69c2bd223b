"""Which row's records are asked for, and what the tasks have of it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple
from urllib.parse import urlencode

from multidict import MultiDict, MultiMapping

from app.domain.records import Value
from app.domain.rows import COUNT_AT, Cells, last_of, merge_rows
from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.formats.format import Document
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.group_values import NULL, group_text
from app.edge.http.query.parameters import CURSOR, LIMIT, TO_THE_END, unknown
from app.edge.http.query.read_query import read_query
from app.edge.http.query.rows_query import ALL_ROWS, RowsQuery
from app.edge.http.rows.answers import whole_page
from app.edge.http.rows.fold_rows import concatenated
from app.edge.http.rows.gather import Gathered
from app.engine.core.rows.state import Rows
from app.engine.core.views.belonging import RowAsked

DEFAULT_RECORDS, MAX_RECORDS = 100, 1_000
"""Of a page."""
OWN = (LIMIT, CURSOR, TO_THE_END)
"""Parameters that say nothing of the row."""


def evidence_address(view: View, row: Document) -> str:
    """Where the records are told that are behind a row, as answers tell it; as many at once as there may be."""
    told = {group.name: group_text(row["group"][group.name]) for group in view.groups}
    windowed = {} if row["window"] is None else {"from": row["window"]["start"]}
    return f"/v1/views/{view.name}/evidence?{urlencode(told | windowed | {LIMIT: MAX_RECORDS})}"


class ToldRow(NamedTuple):
    """A row as all tasks told it. `wanted`: by task, how many of its records each has; none, maybe.

    `corrected`: whether a correction has set some of it.
    """

    asked: RowAsked
    cells: Cells
    wanted: dict[int, int]
    corrected: bool


def asked_row(view: View, parameters: MultiMapping[str]) -> tuple[RowAsked, RowsQuery]:
    """The row that the parameters name, and the query for what tasks have of it; a session's end is not known yet."""
    windowed = ("from", "to") if view.window.ends else ()
    allowed = (*(group.name for group in view.groups), *windowed, *OWN)
    for name in parameters:
        if name not in allowed:
            raise unknown(parameters, name, f"there are {', '.join(allowed)}")
    query = read_query(view, MultiDict(told for told in parameters.items() if told[0] not in OWN))
    asked = RowAsked(*_window(view, query), tuple(_value(query, group.name) for group in view.groups))
    until_us = asked.start_us
    if asked.start_us is not None:
        until_us = asked.end_us if view.window.panes and asked.end_us else asked.start_us + 1
    return asked, replace(query, from_us=asked.start_us, until_us=until_us, limit=ALL_ROWS)


def told_row(view: View, asked: RowAsked, query: RowsQuery, gathered: Gathered) -> ToldRow:
    """The row, and what each task has of it. The `unknown-row` problem where none has any."""
    parts = {partition: part.rows for partition, part in gathered.parts.items()}
    if view.window.merges:
        asked = asked._replace(end_us=_session_end(view, query, gathered))
        parts = {partition: _within(asked, rows) for partition, rows in parts.items()}
    counts = {partition: int(rows.cells[:, COUNT_AT].sum()) for partition, rows in parts.items()}
    rows = concatenated(list(parts.values()))
    if not len(rows):
        raise _unknown(view)
    corrected = rows.corrected is not None and bool(rows.corrected.any())
    return ToldRow(asked, merge_rows(view, rows.cells.tolist()), counts, corrected)


def _window(view: View, query: RowsQuery) -> tuple[int | None, int | None]:
    if not view.window.ends:
        return None, None
    if query.from_us is None:
        raise bad_parameter("from", "", "the start of the row's window, as window.start of the row says")
    start_us, end_us = query.from_us, query.until_us
    if view.window.merges:
        _require(end_us is None, "to", end_us, "not with sessions, which end where their records do")
        return start_us, None
    own_us = view.window.window_end(start_us)
    if view.window.panes is None:
        _require(end_us in (None, own_us), "to", end_us, "the end of the window that begins at from, or nothing")
        return start_us, own_us
    end_us = own_us if end_us is None else end_us
    _require(view.window.is_start(start_us), "from", start_us, "no window of the view begins there")
    _require(view.window.is_start(end_us) and end_us > start_us, "to", end_us, "no window behind from ends there")
    return start_us, end_us


def _require(condition: bool, name: str, instant_us: int | None, allowed: str) -> None:
    if not condition:
        raise bad_parameter(name, "" if instant_us is None else to_iso(instant_us), allowed)


def _value(query: RowsQuery, group: str) -> Value:
    values = query.groups.get(group, ())
    if len(values) != 1:
        told = ", ".join(map(group_text, values))
        raise bad_parameter(group, told, f"one value, as the row has it; {NULL} where it has none")
    return values[0]


def _session_end(view: View, query: RowsQuery, gathered: Gathered) -> int:
    """Where the session ends that begins where the query asks, of all tasks as one."""
    rows = whole_page(query, gathered).rows
    if not len(rows) or rows.windows is None:
        raise _unknown(view)
    return view.window.window_end(int(rows.windows[0]), last_of(view, rows.cells[0].tolist()))


def _within(asked: RowAsked, rows: Rows) -> Rows:
    assert rows.windows is not None
    assert asked.start_us is not None
    assert asked.end_us is not None
    return rows.at((rows.windows >= asked.start_us) & (rows.windows < asked.end_us))


def _unknown(view: View) -> Problem:
    detail = f"{view.name} has no such row now: name its groups and window.start as an answer tells them."
    return Problem("unknown-row", detail)

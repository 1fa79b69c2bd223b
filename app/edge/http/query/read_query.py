"""Parameters of a request to the query that they ask.

Every mistake is a problem that names the parameter, what it said and what it may say.
"""

from __future__ import annotations

from dataclasses import replace

from aiohttp import web

from app.domain.records import Value
from app.domain.view import View
from app.domain.windows.durations import DURATION_EXAMPLE, duration_us, to_duration
from app.domain.windows.instants import to_iso
from app.domain.windows.panes import MOST_AT_ONCE, Panes
from app.edge.formats.format import MOST_DOCUMENTS
from app.edge.http.problems import bad_parameter
from app.edge.http.query import cursors
from app.edge.http.query.arrangement import read_arrangement
from app.edge.http.query.group_values import group_value
from app.edge.http.query.instants import MAX_WINDOW_US, instant_range, instant_wanted, to_us
from app.edge.http.query.parameters import (
    ARRANGED,
    COMMON,
    CURSOR,
    FOLDED,
    MAX_STALENESS,
    WINDOWED,
    Parameters,
    choice,
    one,
    unknown,
    whole_number,
)
from app.edge.http.query.rows_query import DEFAULT_LIMIT, RowsQuery

MAX_STALENESS_US = 86_400_000_000


def read_no_parameters(request: web.Request) -> None:
    """Refuse any parameter, where there is none to give."""
    for name, value in request.query.items():
        raise bad_parameter(name, value, f"unknown; {request.path} takes no parameters")


def read_query(
    view: View,
    parameters: Parameters,
    *,
    also: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
    most_rows: int = MOST_DOCUMENTS,
) -> RowsQuery:
    """The query that the parameters ask for; `also` names those that the caller reads himself, `without` those that it
    has refused. `most_rows`: the highest limit."""
    of_windows = WINDOWED if view.window.ends else ()
    of_panes = FOLDED if view.window.panes else ()
    known = (*(g.name for g in view.groups), *of_windows, *of_panes, *ARRANGED, *COMMON, *also)
    for name in parameters:
        if name not in known:
            taken = f"takes {', '.join(name for name in known if name not in without)}"
            if name in FOLDED:
                no_panes = f"{view.name} has no panes of one length to fold; it {taken}"
                raise bad_parameter(name, ", ".join(parameters.getall(name, [])), no_panes)
            raise unknown(parameters, name, f"{view.name} {taken}")
    query = RowsQuery(
        view=view,
        from_us=_instant(view, parameters, "from"),
        until_us=_instant(view, parameters, "to"),
        window_us=_window(view, parameters),
        step_us=_step(view, parameters),
        groups=_groups(view, parameters),
        limit=whole_number(parameters, "limit", most_rows) or DEFAULT_LIMIT,
        newest_first=choice(parameters, "order", ("asc", "desc")) == "desc",
        partial_allowed=is_partial_allowed(parameters),
        last_us=_last(view, parameters),
        arrangement=read_arrangement(view, parameters),
    )
    require_in_order(query.from_us, query.until_us)
    cursor = one(parameters, CURSOR)
    if query.last_us is not None:
        if query.until_us is not None:
            query = query.until(query.until_us)
        elif cursor is not None:
            raise bad_parameter(CURSOR, cursor, "with last, give `to` as well: the window's end on the page before")
    if cursor is None:
        return query
    return replace(query, after=cursors.decode(query.key_shape, query.filters_hash, cursor))


def require_in_order(from_us: int | None, until_us: int | None) -> None:
    """A problem of a range that ends before it begins, which is a mistake; one that is empty is none."""
    if from_us is not None and until_us is not None and from_us > until_us:
        raise bad_parameter("to", to_iso(until_us), f"not before from, {to_iso(from_us)}")


def read_partial(parameters: Parameters) -> bool:
    """Whether a partial answer is allowed, for requests that take no other parameter."""
    for name in parameters:
        if name != "partial":
            raise unknown(parameters, name, "there is: partial")
    return is_partial_allowed(parameters)


def is_partial_allowed(parameters: Parameters) -> bool:
    """Whether `partial` says that an answer may lack partitions."""
    return choice(parameters, "partial", ("refuse", "allow")) == "allow"


def read_staleness(parameters: Parameters) -> int | None:
    """How old rows may be that may have changed since; None where they may not."""
    text = one(parameters, MAX_STALENESS)
    if text is None:
        return None
    try:
        age_us = duration_us(text)
    except ValueError:
        age_us = MAX_STALENESS_US + 1
    if age_us > MAX_STALENESS_US:
        raise bad_parameter(MAX_STALENESS, text, f"up to {to_duration(MAX_STALENESS_US)}: {DURATION_EXAMPLE}")
    return age_us


def _instant(view: View, parameters: Parameters, name: str) -> int | None:
    text = one(parameters, name)
    if text is None:
        return None
    first_us, last_us = instant_range(view)
    try:
        instant_us = to_us(text)
    except ValueError:
        raise bad_parameter(name, text, instant_wanted(text)) from None
    if first_us <= instant_us <= last_us:
        return instant_us
    raise bad_parameter(name, text, f"from {to_iso(first_us)} to {to_iso(last_us)}; leave it out for an open end")


def _window(view: View, parameters: Parameters) -> int | None:
    panes = view.window.panes
    if panes is None:
        return None
    last_us = _last(view, parameters)
    if last_us is not None:
        for name in ("window", "step", "from"):
            if (given := one(parameters, name)) is not None:
                raise bad_parameter(name, given, "not with last, which is one window of that length before `to`")
        return last_us
    text = one(parameters, "window")
    return panes.size_us if text is None else _panes(panes, "window", text)


def _step(view: View, parameters: Parameters) -> int | None:
    """None where windows do not overlap."""
    panes, text, window_us = view.window.panes, one(parameters, "step"), _window(view, parameters)
    if panes is None or text is None or window_us is None:
        return None
    if one(parameters, "window") is None:
        raise bad_parameter("step", text, "only with window, of which it says how often one begins")
    step_us = _panes(panes, "step", text)
    if step_us > window_us:
        raise bad_parameter("step", text, f"up to the window, {to_duration(window_us)}")
    if window_us > step_us * MOST_AT_ONCE:
        raise bad_parameter("step", text, f"so long that {MOST_AT_ONCE} windows at most hold an instant")
    return None if step_us == window_us else step_us


def _last(view: View, parameters: Parameters) -> int | None:
    panes, text = view.window.panes, one(parameters, "last")
    return None if panes is None or text is None else _panes(panes, "last", text)


def _panes(panes: Panes, name: str, text: str) -> int:
    """A length that is a multiple of the pane."""
    most = to_duration(MAX_WINDOW_US)
    allowed = f"a multiple of the pane, {to_duration(panes.size_us)}, up to {most}: {DURATION_EXAMPLE}"
    try:
        window_us = duration_us(text)
    except ValueError:
        raise bad_parameter(name, text, allowed) from None
    if window_us % panes.size_us or window_us > MAX_WINDOW_US:
        raise bad_parameter(name, text, allowed)
    return window_us


def _groups(view: View, parameters: Parameters) -> dict[str, tuple[Value, ...]]:
    asked = {group: parameters.getall(group.name, []) for group in view.groups}
    return {g.name: tuple(group_value(view, g, text) for text in texts) for g, texts in asked.items() if texts}

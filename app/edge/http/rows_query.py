"""What a request for rows asks, read from its parameters and written back into them.

Every mistake is a problem that names the parameter, what it said and what it may say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from app.domain.errors import DefinitionError
from app.domain.fold import RowKey
from app.domain.records import Value
from app.domain.source import Column, Kind
from app.domain.view import Group, Tumbling, View
from app.edge.http import cursors
from app.edge.http.instants import DURATION_EXAMPLE, INSTANT_EXAMPLE, duration_us, to_duration, to_iso, to_us
from app.edge.http.problems import bad_parameter

DEFAULT_LIMIT, MAX_LIMIT = 100, 10_000
MAX_WINDOW_US = 366 * 86_400 * 1_000_000
NULL = "null"
COMMON = ("limit", "cursor", "order", "partial")
WINDOWED = ("from", "to", "window")
RESERVED = frozenset({*COMMON, *WINDOWED, "partition"})


class Parameters(Protocol):
    """The part of aiohttp's multi-dict that is used here."""

    def getall(self, name: str, default: list[str], /) -> list[str]: ...
    def __iter__(self) -> Iterator[str]: ...


@dataclass(frozen=True)
class RowsQuery:
    """A page of a view's rows.

    Windows start in `[from_us, until_us)`, None is open. `window_us` is a multiple of the pane; None where
    there are no windows. `after` is the last key of the page before this one, in the order asked for.
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

    @property
    def is_folded(self) -> bool:
        """Whether windows are made of several panes."""
        return isinstance(self.view.window, Tumbling) and self.window_us != self.view.window.size_us

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
        ]
        text = json.dumps([*told, sorted((n, sorted(map(repr, v))) for n, v in self.groups.items())])
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()

    def cursor_after(self, key: RowKey) -> str:
        """The cursor of the page that follows a row."""
        return cursors.encode(self.filters_hash, key)

    def parameters(self) -> list[tuple[str, str]]:
        """The parameters from which `read_query` makes this query again."""
        told = [(name, NULL if v is None else str(v)) for name, values in self.groups.items() for v in values]
        if self.from_us is not None:
            told.append(("from", to_iso(self.from_us)))
        if self.until_us is not None:
            told.append(("to", to_iso(self.until_us)))
        if self.window_us is not None:
            told.append(("window", to_duration(self.window_us)))
        if self.after is not None:
            told.append(("cursor", self.cursor_after(self.after)))
        told.append(("order", "desc" if self.newest_first else "asc"))
        return [*told, ("limit", str(self.limit))]


def check_parameter_names(view: View) -> None:
    """DefinitionError if a group's name is that of a parameter, so that it could not be asked for."""
    taken = [f"group {g.name!r}: a query parameter has that name" for g in view.groups if g.name in RESERVED]
    if taken:
        raise DefinitionError(f"view {view.name!r} cannot be served", taken)


def read_query(view: View, parameters: Parameters, *, also: tuple[str, ...] = ()) -> RowsQuery:
    """The query that the parameters ask for; `also` names parameters that the caller reads himself."""
    windowed = isinstance(view.window, Tumbling)
    known = (*(g.name for g in view.groups), *(WINDOWED if windowed else ()), *COMMON, *also)
    for name in parameters:
        if name not in known:
            raise bad_parameter(name, _one(parameters, name) or "", f"unknown; {view.name} takes {', '.join(known)}")
    query = RowsQuery(
        view=view,
        from_us=_instant(parameters, "from"),
        until_us=_instant(parameters, "to"),
        window_us=_window(view, parameters),
        groups=_groups(view, parameters),
        limit=_limit(parameters),
        newest_first=_choice(parameters, "order", ("asc", "desc")) == "desc",
        partial_allowed=_partial(parameters),
    )
    cursor = _one(parameters, "cursor")
    if cursor is None:
        return query
    return replace(query, after=cursors.decode(view, query.filters_hash, cursor))


def no_rows_query(view: View, *, partial_allowed: bool) -> RowsQuery:
    """Asks where each task stands: over no time, so that the parts carry no rows (all-time views: two)."""
    if isinstance(view.window, Tumbling):
        return RowsQuery(view, 0, 0, view.window.size_us, limit=1, partial_allowed=partial_allowed)
    return RowsQuery(view, limit=1, partial_allowed=partial_allowed)


def read_partial(parameters: Parameters) -> bool:
    """Whether a partial answer is allowed, for requests that take no other parameter."""
    for name in parameters:
        if name != "partial":
            raise bad_parameter(name, _one(parameters, name) or "", "unknown; there is: partial")
    return _partial(parameters)


def _partial(parameters: Parameters) -> bool:
    return _choice(parameters, "partial", ("refuse", "allow")) == "allow"


def _one(parameters: Parameters, name: str) -> str | None:
    values = parameters.getall(name, [])
    if len(values) > 1 and name in RESERVED:
        raise bad_parameter(name, ", ".join(values), "may be given once")
    return values[0] if values else None


def _instant(parameters: Parameters, name: str) -> int | None:
    text = _one(parameters, name)
    if text is None:
        return None
    try:
        return to_us(text)
    except ValueError:
        raise bad_parameter(name, text, INSTANT_EXAMPLE) from None


def _window(view: View, parameters: Parameters) -> int | None:
    if not isinstance(view.window, Tumbling):
        return None
    pane_us, text = view.window.size_us, _one(parameters, "window")
    if text is None:
        return pane_us
    most = to_duration(MAX_WINDOW_US)
    allowed = f"a multiple of the pane, {to_duration(pane_us)}, up to {most}: {DURATION_EXAMPLE}"
    try:
        window_us = duration_us(text)
    except ValueError:
        raise bad_parameter("window", text, allowed) from None
    if window_us % pane_us or window_us > MAX_WINDOW_US:
        raise bad_parameter("window", text, allowed)
    return window_us


def _limit(parameters: Parameters) -> int:
    text = _one(parameters, "limit")
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and 1 <= int(text) <= MAX_LIMIT):
        raise bad_parameter("limit", text, f"1 to {MAX_LIMIT}")
    return int(text)


def _choice(parameters: Parameters, name: str, allowed: tuple[str, ...]) -> str:
    """One of the allowed words; the first where none is given."""
    text = _one(parameters, name)
    if text is not None and text not in allowed:
        raise bad_parameter(name, text, f"one of {', '.join(allowed)}")
    return text or allowed[0]


def _groups(view: View, parameters: Parameters) -> dict[str, tuple[Value, ...]]:
    asked = {group: parameters.getall(group.name, []) for group in view.groups}
    return {g.name: tuple(_group_value(view, g, text) for text in texts) for g, texts in asked.items() if texts}


def _group_value(view: View, group: Group, text: str) -> Value:
    column = view.source.by_name[group.column]
    if text == NULL or column.kind is Kind.TEXT:
        return None if text == NULL else text
    low, high = integer_range(column)
    if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 20 and low <= int(text) <= high:
        return int(text)
    raise bad_parameter(group.name, text, f"a whole number from {low} to {high}, or {NULL}")


def integer_range(column: Column) -> tuple[int, int]:
    """Values that a group over the column can have; the least 64-bit number stands for null inside."""
    low = 1 - (1 << 63) if column.low is None else column.low
    return low, (1 << 63) - 1 if column.high is None else column.high

"""A table below `[views]` as a view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import Field

from app.definitions.shapes import Problems, Seconds, Shape, fitted, tables, tagged
from app.definitions.sources import ReadSource
from app.domain.catalogue import NumberAndName
from app.domain.errors import DefinitionError, did_you_mean
from app.domain.figures.kinds import FIGURES
from app.domain.measures.kinds import MEASURES
from app.domain.source import Source
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.contract import Window
from app.domain.windows.kinds import KINDS

OPTIONAL = ("help", "leaves_out", "revisable_seconds")
TABLES = ("window", "measures", "figures")
Made = TypeVar("Made")


class ViewShape(Shape):
    """`[views.<name>]`, without the tables in it, which are read one by one."""

    number: int
    source: str
    groups: dict[str, str] = Field(default_factory=dict)
    grace_seconds: Seconds | None = None
    retention_seconds: Seconds | None = None
    revisable_seconds: Seconds | None = None
    leaves_out: tuple[str, ...] = ()
    help: str = ""


@dataclass(frozen=True)
class ReadView:
    """What a table says; `view` is None if it cannot be one, `told` if it has no number."""

    view: View | None
    told: NumberAndName | None


def read_view(name: str, given: Any, sources: Mapping[str, ReadSource], place: str, problems: Problems) -> ReadView:
    """The view of that name over one of these sources; its mistakes are noted."""
    before = len(problems)
    table = tables(given, place, problems)
    head = fitted(ViewShape, {k: v for k, v in table.items() if k not in TABLES}, place, problems)
    if "window" not in table:
        problems.note(f"{place}.window", "is missing")
    window = tagged(KINDS, table["window"], f"{place}.window", problems) if "window" in table else None
    by_name = tables(table.get("measures", {}), f"{place}.measures", problems)
    if not by_name:
        problems.note(f"{place}.measures", 'there are none; { kind = "count" } is one')
    measures = _tagged_all(MEASURES, by_name, f"{place}.measures", problems)
    by_name = tables(table.get("figures", {}), f"{place}.figures", problems)
    figures = _tagged_all(FIGURES, by_name, f"{place}.figures", problems)
    times = _times(head, table, window, place, problems)
    source = _source(head.get("source"), sources, place, problems)
    number = head.get("number")
    view = None
    if source is not None:
        groups = tuple(Group(group, column) for group, column in head.get("groups", {}).items())
        try:
            known = 1 if number is None else number
            rest = {key: head[key] for key in OPTIONAL if head.get(key) is not None} | {"figures": figures}
            view = View(known, name, source, groups, window or AllTime(), measures, *times, **{"help": "", **rest})
        except DefinitionError as error:
            problems.note(place, *error.problems)
    return ReadView(view if len(problems) == before else None, None if number is None else (number, name))


def _tagged_all(
    kinds: Mapping[str, type[Made]], by_name: Mapping[str, Any], place: str, problems: Problems
) -> tuple[Made, ...]:
    """Those that are right."""
    found = (tagged(kinds, one, f"{place}.{name}", problems, name=name) for name, one in by_name.items())
    return tuple(one for one in found if one is not None)


def _times(
    head: Mapping[str, Any], table: Mapping[str, Any], window: Window | None, place: str, problems: Problems
) -> tuple[int, int]:
    """Grace and retention: required where windows close, refused where none does."""
    for key in ("grace_seconds", "retention_seconds"):
        if key not in table and window is not None and window.ends:
            problems.note(f"{place}.{key}", "is missing")
        if head.get(key) and window is not None and not window.ends:
            problems.note(f"{place}.{key}", f"means nothing where no window ends: {window.describe()}")
    return head.get("grace_seconds") or 0, head.get("retention_seconds") or 0


def _source(name: str | None, sources: Mapping[str, ReadSource], place: str, problems: Problems) -> Source | None:
    """What to check the view against; None if there is nothing."""
    if name is None:
        return None
    if name not in sources:
        near = did_you_mean(name, sources) or f"; there are: {', '.join(sources)}"
        problems.note(f"{place}.source", f"no source is called {name!r}{near}")
        return None
    return sources[name].source or sources[name].columns

"""The first page: newest rows of each view, where every task stands, the last verdict. No script."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.domain.event_time import NO_WATERMARK
from app.domain.measures.parts import values_name
from app.domain.view import View
from app.edge.http.context import WHY, Edge, ServedGroup, edge_of
from app.edge.http.page import figures
from app.edge.http.page.verdicts import NONE_YET, card
from app.edge.http.problems import RETRY_AFTER_SECONDS, Problem
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.rows.answers import row_document, whole_page
from app.edge.http.rows.fold_rows import key_at
from app.edge.http.rows.gather import Gathered, gather
from app.edge.http.rows.parts import Part

HERE = Path(__file__).parent
NEWEST_ROWS = 8
STATIC = {"page.css": "text/css", "icon.svg": "image/svg+xml"}


class Panel(NamedTuple):
    """A view on the page: headings, rows as text, and what its answer lacks."""

    group: ServedGroup
    view: View
    pane: str | None
    headings: list[str]
    rows: list[dict[str, Any]]
    as_of: str
    gathered: Gathered


class Positions(NamedTuple):
    """Where the tasks of a group stand: each task's part of an answer, by partition."""

    group: ServedGroup
    topics: list[str]
    tasks: dict[int, Part]


async def page(request: web.Request) -> web.Response:
    """The page; with status 503 and without rows while the worker cannot answer."""
    edge = edge_of(request)
    groups = [group for group in edge.groups if group.views]
    panels = await asyncio.gather(
        *(_panel(edge, group, view) for group in groups if group.directory.answers for view in group.views)
    )
    text = _template().render(
        directories=[group.directory for group in groups],
        positions=[_positions(group, panels) for group in groups if group.directory.answers],
        standing=edge.standing,
        why=WHY[edge.standing],
        panels=panels,
        verdict=card(edge),
        none_yet=NONE_YET,
    )
    headers = {} if panels else {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return web.Response(text=text, status=200 if panels else 503, content_type="text/html", headers=headers)


async def static(request: web.Request) -> web.Response:
    """Style sheet and icon."""
    name = request.match_info["file"]
    if name not in STATIC:
        raise Problem("not-found", f"There is no {name!r} here; there are: {', '.join(STATIC)}.")
    return web.Response(text=_static_text(name), content_type=STATIC[name])


async def _panel(edge: Edge, group: ServedGroup, view: View) -> Panel:
    query = RowsQuery(
        view,
        window_us=panes.size_us if (panes := view.window.panes) else None,
        limit=NEWEST_ROWS,
        newest_first=view.window.ends,
        partial_allowed=True,
    )
    gathered = await gather(edge, query)
    rows = whole_page(query, gathered)
    shown, to_us = range(min(len(rows), NEWEST_ROWS)), gathered.closed_to_us
    return Panel(
        group,
        view,
        view.window.title,
        [figures.heading(measure.name) for measure in view.measures],
        [_row(view, row_document(query, key_at(rows, at), rows.cells[at].tolist(), to_us, edge.names)) for at in shown],
        figures.moment(gathered.lowest_watermark_us),
        gathered,
    )


def _row(view: View, told: dict[str, Any]) -> dict[str, Any]:
    measures = [_figure(measure.name, told["measures"]) for measure in view.measures]
    groups = [
        (told["group"][g.name], told["group"].get(f"{g.name}_name"), told["group"].get(f"{g.name}_borough"))
        for g in view.groups
    ]
    return {"window": told["window"], "groups": groups, "measures": measures, "state": told["state"]}


def _positions(group: ServedGroup, panels: list[Panel]) -> Positions:
    """Of any answer: position and watermark are the same for all views of one commit."""
    topics = sorted({topic.name for view in group.views for topic in view.source.topics})
    parts = (panel.gathered.parts for panel in panels if panel.group is group)
    return Positions(group, topics, {p: part for given in parts for p, part in sorted(given.items())})


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.globals |= {"moment": figures.moment, "NO_WATERMARK": NO_WATERMARK}
    return environment.get_template("page.html")


@cache
def _static_text(name: str) -> str:
    return (HERE / "static" / name).read_text("utf-8")


def _figure(name: str, measures: dict[str, Any]) -> Any:
    """As the page shows it: of a list bars, and what they stand for."""
    told = _told(measures, name)
    return (figures.bars(told), told) if isinstance(told, list) else figures.figure(name, told)


def _told(measures: dict[str, Any], name: str) -> Any:
    """The measure's value; null for a sum over no value at all, which would look like an amount of nothing."""
    return None if measures.get(values_name(name)) == 0 else measures[name]

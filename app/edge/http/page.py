"""The first page: newest rows of each view, where every task stands, the last verdict. No script."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.domain.measures import Histogram, values_name
from app.domain.view import Tumbling, View
from app.edge.http import figures
from app.edge.http.answers import row_document, whole_page
from app.edge.http.context import WHY, Edge, edge_of
from app.edge.http.fold_rows import key_at
from app.edge.http.gather import Gathered, gather
from app.edge.http.instants import to_duration
from app.edge.http.problems import RETRY_AFTER_SECONDS, Problem
from app.edge.http.rows_query import RowsQuery
from app.edge.http.verdicts import read_verdict

HERE = Path(__file__).parent
NEWEST_ROWS = 8
STATIC = {"page.css": "text/css", "icon.svg": "image/svg+xml"}


class Panel(NamedTuple):
    """A view on the page: headings, rows as text, and what its answer lacks."""

    view: View
    pane: str | None
    headings: list[str]
    rows: list[dict[str, Any]]
    as_of: str
    gathered: Gathered


async def page(request: web.Request) -> web.Response:
    """The page; with status 503 and without rows while the worker cannot answer."""
    edge = edge_of(request)
    panels = await asyncio.gather(*(_panel(edge, view) for view in edge.views.values())) if edge.ready else []
    text = _template().render(
        directory=edge.directory,
        standing=edge.standing,
        why=WHY[edge.standing],
        panels=panels,
        tasks=_tasks(panels),
        topics=_topics(edge),
        verdict=read_verdict(edge.data_dir),
    )
    headers = {} if panels else {"Retry-After": str(RETRY_AFTER_SECONDS)}
    return web.Response(text=text, status=200 if panels else 503, content_type="text/html", headers=headers)


async def static(request: web.Request) -> web.Response:
    """Style sheet and icon."""
    name = request.match_info["file"]
    if name not in STATIC:
        raise Problem("not-found", f"There is no {name!r} here; there are: {', '.join(STATIC)}.")
    return web.Response(text=_static_text(name), content_type=STATIC[name])


async def _panel(edge: Edge, view: View) -> Panel:
    tumbling = view.window if isinstance(view.window, Tumbling) else None
    query = RowsQuery(
        view,
        window_us=tumbling.size_us if tumbling else None,
        limit=NEWEST_ROWS,
        newest_first=tumbling is not None,
        partial_allowed=True,
    )
    gathered = await gather(edge, query)
    rows = whole_page(query, gathered)
    shown = range(min(len(rows), NEWEST_ROWS))
    as_of_us = gathered.lowest_watermark_us
    return Panel(
        view,
        to_duration(tumbling.size_us) if tumbling else None,
        [figures.heading(measure.name) for measure in view.measures],
        [_row(view, row_document(query, key_at(rows, at), rows.cells[at].tolist(), as_of_us)) for at in shown],
        figures.moment(as_of_us),
        gathered,
    )


def _row(view: View, told: dict[str, Any]) -> dict[str, Any]:
    measures = [
        (figures.bars(told["measures"][m.name]), told["measures"][m.name])
        if isinstance(m, Histogram)
        else figures.figure(m.name, _told(told["measures"], m.name))
        for m in view.measures
    ]
    groups = [
        (told["group"][g.name], told["group"].get(f"{g.name}_name"), told["group"].get(f"{g.name}_borough"))
        for g in view.groups
    ]
    return {"window": told["window"], "groups": groups, "measures": measures, "state": told["state"]}


def _tasks(panels: list[Panel]) -> dict[int, Any]:
    """Each task's part of any answer: position and watermark are the same for all views of one commit."""
    return {p: part for panel in panels for p, part in sorted(panel.gathered.parts.items())}


def _topics(edge: Edge) -> list[str]:
    return sorted({topic.name for view in edge.views.values() for topic in view.source.topics})


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.globals |= {"moment": figures.moment}
    return environment.get_template("page.html")


@cache
def _static_text(name: str) -> str:
    return (HERE / "static" / name).read_text("utf-8")


def _told(measures: dict[str, Any], name: str) -> Any:
    """The measure's value; null for a sum over no value at all, which would look like an amount of nothing."""
    return None if measures.get(values_name(name)) == 0 else measures[name]

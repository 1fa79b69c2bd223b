"""The first page: newest rows of each view, where every task stands, the last verdict; above them, by scripts of its
own, the city as it moves, where a view is over its zones."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import web
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.base.pages.static_files import STATIC, static_text
from app.domain.column import NumberUnit
from app.domain.event_time import NO_WATERMARK
from app.domain.figures.contract import units
from app.domain.measures.parts import values_name
from app.domain.view import View
from app.edge.http.across_tasks import AcrossTasks
from app.edge.http.context import WHY, Edge, ServedGroup, edge_of, not_ready
from app.edge.http.entry.security import MAX_ADDRESS_BYTES, SCRIPTED, policy
from app.edge.http.evidence.asked_row import evidence_address
from app.edge.http.long_work import MANY_DOCUMENTS
from app.edge.http.page import figures
from app.edge.http.page.verdicts import NONE_YET, card
from app.edge.http.problems import Problem, without_document
from app.edge.http.query.rows_query import RowsQuery, no_rows_query
from app.edge.http.rows.answers import whole_page
from app.edge.http.rows.gather import Gathered, gather
from app.edge.http.tasks.gather_tasks import gather_tasks
from app.edge.http.tasks.standing import TaskStanding
from app.rides.zones import ZONE_COLUMNS

HERE = Path(__file__).parent
SCRIPTS = (
    "address",
    "answers",
    "choice",
    "city",
    "city_map",
    "evidence",
    "figures",
    "lists",
    "panels",
    "records",
)
OWN_STATIC = {"city.css": "text/css", **{f"{name}.js": "text/javascript" for name in SCRIPTS}}
"""Beside those that all pages share."""
ICON = "icon.svg"
NEWEST_ROWS = 8
DAY_US = 86_400_000_000


class Panel(NamedTuple):
    """A view on the page: headings, rows as text, and what its answer lacks."""

    view: View
    headings: list[str]
    rows: list[dict[str, Any]]
    gathered: Gathered


class Positions(NamedTuple):
    """Where the tasks of a group stand, whether or not a view is over its sources."""

    group: ServedGroup
    tasks: AcrossTasks[TaskStanding]

    @property
    def as_of(self) -> str:
        """Up to where all of them are complete."""
        return moment(self.tasks.lowest_watermark_us)


async def page(request: web.Request) -> web.Response:
    """The page; with status 503 and without rows while the worker cannot answer."""
    edge = edge_of(request)
    answering = [group for group in edge.groups if group.directory.answers]
    panels = await asyncio.gather(*(_panel(edge, view) for group in answering for view in group.views))
    standings = await asyncio.gather(*(gather_tasks(edge, group) for group in answering))
    text = _template().render(
        directories=[group.directory for group in edge.groups],
        positions=list(map(Positions, answering, standings)),
        standing=edge.standing,
        why=WHY[edge.standing],
        panels=panels,
        heartbeat_seconds=edge.limits.heartbeat_seconds,
        has_city=any(map(_is_of_zones, edge.views.values())),
        verdict=card(edge),
        none_yet=NONE_YET,
    )
    answer = web.Response(text=text, content_type="text/html")
    answer.headers["Content-Security-Policy"] = policy("'self'", SCRIPTED)
    return answer if panels else without_document(not_ready(edge.standing), answer)


async def static(request: web.Request) -> web.Response:
    """Style sheets, scripts and the icon."""
    name = request.match_info["file"]
    if name in STATIC:
        return web.Response(text=static_text(name), content_type=STATIC[name])
    if name in OWN_STATIC:
        return web.Response(text=_own_static(name), content_type=OWN_STATIC[name])
    raise Problem("not-found", f"There is no {name!r} here; there are: {', '.join((*STATIC, *OWN_STATIC))}.")


async def icon(_: web.Request) -> web.Response:
    """The icon of what names none: a run's page, which stands alone, and JSON in a browser."""
    return web.Response(text=static_text(ICON), content_type=STATIC[ICON])


def moment(watermark_us: int) -> str:
    """`2024-01-31 08:05:00`, UTC; a dash where nothing was seen."""
    return figures.ABSENT if watermark_us == NO_WATERMARK else figures.instant(watermark_us)


async def _panel(edge: Edge, view: View) -> Panel:
    query = RowsQuery(
        view,
        window_us=panes.size_us if (panes := view.window.panes) else None,
        limit=NEWEST_ROWS,
        newest_first=view.window.ends,
        partial_allowed=True,
    )
    if view.window.merges:  # all rows behind `from` are merged for the newest
        query = replace(query, from_us=await _a_day_before(edge, view))
    gathered = await gather(edge, query)
    rows = sum(len(part.rows) for part in gathered.parts.values())
    found = await edge.long_work.run(rows > MANY_DOCUMENTS, whole_page, query, gathered)
    shown = range(min(len(found.rows), NEWEST_ROWS))
    units_of = units(view.measures, (), view.source)
    return Panel(
        view,
        [figures.heading(units_of[measure.name], measure.name) for measure in view.measures],
        [_row(view, units_of, found.document(query, at, gathered, edge.names)) for at in shown],
        gathered,
    )


async def _a_day_before(edge: Edge, view: View) -> int | None:
    """A day before the latest that any of the view's tasks has seen; None if they have seen nothing."""
    standing = await gather(edge, no_rows_query(view, partial_allowed=True))
    latest_us = max((s.watermark_us for p in standing.parts.values() for s in p.inputs.values()), default=NO_WATERMARK)
    return None if latest_us == NO_WATERMARK else latest_us - DAY_US


def _row(view: View, units_of: Mapping[str, NumberUnit | None], told: dict[str, Any]) -> dict[str, Any]:
    measures = [_figure(units_of[measure.name], measure.name, told["measures"]) for measure in view.measures]
    groups = [
        (told["group"][g.name], told["group"].get(f"{g.name}_name"), told["group"].get(f"{g.name}_borough"))
        for g in view.groups
    ]
    address = evidence_address(view, told)
    return {
        "window": told["window"],
        "groups": groups,
        "measures": measures,
        "state": told["state"],
        "evidence": address if len(address) <= MAX_ADDRESS_BYTES else None,
    }


def _is_of_zones(view: View) -> bool:
    """Whether the map can be coloured by it."""
    return view.window.panes is not None and [group.column in ZONE_COLUMNS for group in view.groups] == [True]


@cache
def _own_static(name: str) -> str:
    return (HERE / "static" / name).read_text("utf-8")


@cache
def _template() -> Any:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.globals |= {"moment": moment, "NO_WATERMARK": NO_WATERMARK}
    return environment.get_template("page.html")


def _figure(unit: NumberUnit | None, name: str, measures: dict[str, Any]) -> Any:
    """As the page shows it: of a list bars, and what they stand for."""
    told = _told(measures, name)
    return (figures.bars(told), told) if isinstance(told, list) else figures.figure(unit, told)


def _told(measures: dict[str, Any], name: str) -> Any:
    """The measure's value; null for a sum over no value at all, which would look like an amount of nothing."""
    return None if measures.get(values_name(name)) == 0 else measures[name]

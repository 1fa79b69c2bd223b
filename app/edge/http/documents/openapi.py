"""`/openapi.json`: the API in OpenAPI 3.1, written from the routes and the views that are served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from aiohttp import web

from app.domain.source import Kind
from app.domain.view import Group, View
from app.domain.windows.durations import to_duration
from app.edge.formats import table
from app.edge.http.documents import schemas
from app.edge.http.problems import MEDIA_TYPE as PROBLEM_MEDIA_TYPE
from app.edge.http.query.read_query import FORMAT, MAX_LIMIT, integer_range
from app.edge.http.query.rows_query import DEFAULT_LIMIT
from app.edge.http.route import Route
from app.edge.http.rows.view_handlers import json_response, read_no_parameters

ApiDocument = dict[str, Any]
VIEW = "{view}"
DOCUMENT = web.AppKey("api_document", ApiDocument)


async def openapi(request: web.Request) -> web.Response:
    """The API document."""
    read_no_parameters(request)
    return json_response(request.app[DOCUMENT])


def api_document(routes: Iterable[Route], views: Iterable[View]) -> ApiDocument:
    """Every route; those of a view once per view, with its own parameters and row."""
    views, paths = tuple(views), ApiDocument()
    for route in routes:
        for view in views if VIEW in route.path else (None,):
            path = route.path if view is None else route.path.replace(VIEW, view.name)
            paths[path] = {"get": _operation(route, view)}
    rows = {f"Row_{view.name}": schemas.row(view) for view in views}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "flagfall",
            "version": "1",
            "description": "Live taxi figures that can be checked; every answer names its position.",
        },
        "paths": paths,
        "components": {"schemas": schemas.SHARED | rows},
    }


def _operation(route: Route, view: View | None) -> ApiDocument:
    name = route.name if view is None else f"{route.name}_{view.name}"
    return {
        "operationId": name,
        "summary": route.summary,
        "description": " ".join((route.handler.__doc__ or "").split()),
        "tags": [route.tag],
        "parameters": _parameters(route, view),
        "responses": {
            "200": _success(route, view),
            **_other_answers(route),
            "default": _problem("Any other error."),
        },
    }


def _success(route: Route, view: View | None) -> ApiDocument:
    if route.name == "rows" and view is not None:
        return {"description": route.summary, "content": dict(_rows_content(view))}
    schema: ApiDocument = {"$ref": f"#/components/schemas/{route.answer}"}
    if route.media_type != "application/json":
        schema = {"type": "string"}
    return {"description": route.summary, "content": {route.media_type: {"schema": schema}}}


def _rows_content(view: View) -> Iterator[tuple[str, ApiDocument]]:
    """Each format that rows are answered in."""
    row, meta = ({"$ref": f"#/components/schemas/{name}"} for name in (f"Row_{view.name}", "RowsMeta"))
    for written in table.served():
        if written.schema is not None:
            yield written.media_type, {"schema": written.schema(row, meta)}


def _other_answers(route: Route) -> ApiDocument:
    answers: ApiDocument = {}
    if route.tag in ("views", "tasks", "internal"):
        answers["400"] = _problem("A parameter cannot be used.")
    if VIEW in route.path or route.name in ("readyz", "livez", "tasks", "own_tasks"):
        retry = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}}
        answers["503"] = _problem("The worker, or a partition, cannot answer now; or gets nowhere.") | {
            "headers": retry
        }
    if route.name == "rows":
        answers["406"] = _problem("There is no format that Accept names.")
    if route.name in ("rows", "parts"):
        answers["422"] = _problem("A worker would have to fold more rows than one request may.")
    if route.name == "export":
        location = {"Location": {"schema": {"type": "string"}}}
        answers["429"] = _problem("The worker gives as many exports as it may.")
        answers["307"] = {"description": "Another worker owns the partition.", "headers": location}
    if route.name == "page":
        answers["503"] = {
            "description": "The page, saying why there are no rows.",
            "content": {"text/html": {}},
        }
    return answers


def _problem(description: str) -> ApiDocument:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {PROBLEM_MEDIA_TYPE: {"schema": schema}}}


def _parameters(route: Route, view: View | None) -> list[ApiDocument]:
    partition = {"type": "integer", "minimum": 0}
    match route.name, view:
        case "view", _:
            return [_PARTIAL]
        case "rows", View():
            return [*_of_rows(view), _format()]
        case "export", _:
            return [_parameter("partition", partition, "The task to export.") | {"required": True}]
        case "parts", View():
            many = {"type": "array", "items": partition}
            return [*_of_rows(view), _parameter("partition", many, "Tasks that are wanted.")]
        case "tasks", _:
            return [_GROUP | {"schema": {"type": "array", "items": {"type": "string"}}}, _PARTIAL]
        case "own_tasks", _:
            many = {"type": "array", "items": partition}
            return [_GROUP | {"required": True}, _parameter("partition", many, "Tasks that are wanted.")]
        case "static", _:
            name = {"name": "file", "in": "path", "required": True, "schema": {"type": "string"}}
            return [name]
    return []


def _of_rows(view: View) -> list[ApiDocument]:
    return [*(_group(view, group) for group in view.groups), *_of_window(view), *_COMMON]


def _group(view: View, group: Group) -> ApiDocument:
    column = view.source.by_name[group.column]
    item: ApiDocument = {"type": "string"}
    if column.kind is not Kind.TEXT:
        low, high = integer_range(column)
        item = {"oneOf": [{"type": "integer", "minimum": low, "maximum": high}, {"const": "null"}]}
    told = f"{column.help or group.name}; repeatable; `null` for rows without one."
    return _parameter(group.name, {"type": "array", "items": item}, told)


def _of_window(view: View) -> list[ApiDocument]:
    if not view.window.closes:
        return []
    instant = {"type": "string", "format": "date-time"}
    bounds = [
        _parameter("from", instant, "Windows that start at this instant or later."),
        _parameter("to", instant, "Windows that start before this instant; with last, where its window ends."),
    ]
    if view.window.panes is None:
        return bounds
    pane = to_duration(view.window.panes.size_us)
    duration = {"type": "string", "pattern": "^[1-9][0-9]{0,8}[smhd]$"}
    return [
        *bounds,
        _parameter("window", duration | {"default": pane}, f"Length of the windows, a multiple of the pane, {pane}."),
        _parameter("last", duration, f"One window: as much before `to`, or before meta.as_of; a multiple of {pane}."),
    ]


def _format() -> ApiDocument:
    names = [written.name for written in table.served()]
    told = f"How rows are written; without it `Accept` decides, and {names[0]} where all are alike."
    return _parameter(FORMAT, {"type": "string", "enum": names}, told)


def _parameter(name: str, schema: ApiDocument, description: str) -> ApiDocument:
    return {"name": name, "in": "query", "schema": schema, "description": description}


_GROUP = _parameter("group", {"type": "string"}, "A task group; /readyz names them.")
_PARTIAL = _parameter(
    "partial",
    {"type": "string", "enum": ["refuse", "allow"], "default": "refuse"},
    "Whether an answer may lack partitions, which it then names.",
)
_COMMON = [
    _parameter(
        "limit",
        {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "Rows of a page.",
    ),
    _parameter("cursor", {"type": "string"}, "meta.next_cursor of the page before."),
    _parameter(
        "order",
        {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
        "By window, then group; desc gives the newest first.",
    ),
    _PARTIAL,
]

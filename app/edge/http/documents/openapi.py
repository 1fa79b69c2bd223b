"""`/openapi.json`: the API in OpenAPI 3.1, written from the routes and the views that are served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from aiohttp import web

from app.domain.view import View
from app.edge.formats import table
from app.edge.http.documents import schemas
from app.edge.http.documents.event_schema import EVENT
from app.edge.http.documents.evidence_schema import EVIDENCE
from app.edge.http.documents.intake_schema import TAKEN
from app.edge.http.documents.refusals import NOT_NOW, OTHER_HOST, TOO_LONG, UNKNOWN_CALLER, UNUSABLE, problem
from app.edge.http.documents.results_schema import OF_RESULTS
from app.edge.http.documents.run_schema import RUNS
from app.edge.http.documents.topics_schema import OF_TOPICS
from app.edge.http.documents.zones_schema import ZONES
from app.edge.http.entry.security import INTERNAL
from app.edge.http.query.read_query import read_no_parameters
from app.edge.http.responses import json_response
from app.edge.http.route import ANYTHING, ROWS, ApiDocument, Route

VIEW = "{view}"
_SINGLE = {"Evidence": EVIDENCE, "Runs": RUNS, "Zones": ZONES, "Event": EVENT, "Taken": TAKEN}
SHARED = schemas.SHARED | _SINGLE | OF_RESULTS | OF_TOPICS

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
            paths[path] = {route.method.lower(): _operation(route, view)}
    rows = {f"Row_{view.name}": schemas.row(view) for view in views}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "flagfall",
            "version": "1",
            "description": "Live taxi figures that can be checked; every answer names its position.",
        },
        "paths": paths,
        "components": {"schemas": SHARED | rows, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route, view: View | None) -> ApiDocument:
    name = route.name if view is None else f"{route.name}_{view.name}"
    return {
        "operationId": name,
        "summary": route.summary,
        "description": " ".join((route.handler.__doc__ or "").split()),
        "tags": [route.tag],
        "security": [] if route.scope is None else [{"key": [route.scope]}, {}],  # none, where the worker has no keys
        "parameters": route.parameters(view),
        **({} if route.body is None else {"requestBody": _body(route)}),
        "responses": {
            "200": _success(route, view),
            **UNUSABLE,
            **({} if route.scope is None else UNKNOWN_CALLER),
            **({} if route.path.startswith(INTERNAL) else TOO_LONG),
            **OTHER_HOST,
            **({} if route.gate is None else NOT_NOW),
            **route.refuses,
            "default": problem("Any other error."),
        },
    }


def _body(route: Route) -> ApiDocument:
    return {"required": True, "content": {media_type: {"schema": route.body} for media_type in route.sent}}


def _success(route: Route, view: View | None) -> ApiDocument:
    if route.answer == ROWS and view is not None:
        return {"description": route.summary, "content": dict(_rows_content(view))}
    schema: ApiDocument = {"$ref": f"#/components/schemas/{route.answer}"}
    if route.media_type != "application/json" and route.answer == ANYTHING:
        schema = {"type": "string"}
    others = {media_type: {"schema": {"type": "string"}} for media_type in route.also}
    return {"description": route.summary, "content": {route.media_type: {"schema": schema}, **others}}


def _rows_content(view: View) -> Iterator[tuple[str, ApiDocument]]:
    """Each format that rows are answered in."""
    row, meta = ({"$ref": f"#/components/schemas/{name}"} for name in (f"Row_{view.name}", "RowsMeta"))
    for written in table.FORMATS:
        yield written.media_type, {"schema": written.schema(row, meta)}

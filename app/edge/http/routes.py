"""Every address of the worker, once: the application serves this list, and the API document describes it."""

from __future__ import annotations

from typing import NamedTuple

from app.edge.http import export_handler, health, view_handlers
from app.edge.http.problems import Handler


class Route(NamedTuple):
    """A GET address; HEAD comes with it."""

    path: str
    handler: Handler
    name: str
    summary: str
    tag: str


ROUTES = (
    Route("/v1/views", view_handlers.list_views, "views", "The views and their definitions.", "views"),
    Route(
        "/v1/views/{view}",
        view_handlers.show_view,
        "view",
        "A definition, and where its tasks stand.",
        "views",
    ),
    Route("/v1/views/{view}/rows", view_handlers.show_rows, "rows", "Rows, merged over all tasks.", "views"),
    Route(
        "/v1/views/{view}/export", export_handler.export, "export", "All rows of one task, as Arrow.", "views"
    ),
    Route(
        "/v1/internal/views/{view}/parts",
        view_handlers.give_parts,
        "parts",
        "For other workers only.",
        "internal",
    ),
    Route("/livez", health.livez, "livez", "Whether the process answers.", "operation"),
    Route("/readyz", health.readyz, "readyz", "Whether queries are answered.", "operation"),
)

"""Every address of the worker, once: the application serves this list, and the API document describes it."""

from __future__ import annotations

from app.codecs.stored.export import MEDIA_TYPE as ARROW
from app.edge.http import health, metrics
from app.edge.http.documents import openapi
from app.edge.http.page import first_page as page
from app.edge.http.route import CALLERS, EXPORTS, WORKERS, Route
from app.edge.http.rows import export_handler, view_handlers
from app.edge.http.tasks import task_handlers
from app.edge.http.tasks.gather_tasks import OWN_TASKS

VIEWS, TASKS, INTERNAL, OPERATION, PAGE = "views", "tasks", "internal", "operation", "page"

ROUTES = (
    Route("/", page.page, "page", PAGE, "The first page.", media_type="text/html", gate=CALLERS),
    Route("/static/{file}", page.static, "static", PAGE, "What the page is drawn with.", media_type="text/css"),
    Route("/v1/views", view_handlers.list_views, "views", VIEWS, "The views and their definitions.", "Views"),
    Route(
        "/v1/views/{view}", view_handlers.show_view, "view", VIEWS, "A view and its tasks.", "ViewState", gate=CALLERS
    ),
    Route(
        "/v1/views/{view}/rows", view_handlers.show_rows, "rows", VIEWS, "Rows, merged over all tasks.", gate=CALLERS
    ),
    Route(
        "/v1/views/{view}/export",
        export_handler.export,
        "export",
        VIEWS,
        "Rows of a task.",
        media_type=ARROW,
        gate=EXPORTS,
    ),
    Route("/v1/tasks", task_handlers.list_tasks, "tasks", TASKS, "Where every task stands.", "Tasks", gate=CALLERS),
    Route(OWN_TASKS, task_handlers.give_tasks, "own_tasks", INTERNAL, "For workers.", "Parts", gate=WORKERS),
    Route(
        "/v1/internal/views/{view}/parts",
        view_handlers.give_parts,
        "parts",
        INTERNAL,
        "For workers.",
        "Parts",
        gate=WORKERS,
    ),
    Route("/livez", health.livez, "livez", OPERATION, "Whether the process answers.", "Alive"),
    Route("/readyz", health.readyz, "readyz", OPERATION, "Whether queries are answered.", "Ready"),
    Route("/metrics", metrics.metrics, "metrics", OPERATION, "For Prometheus.", media_type="text/plain"),
    Route("/openapi.json", openapi.openapi, "openapi", OPERATION, "This description."),
)

"""Every address of the worker, once: the application serves this list, and the API document describes it."""

from __future__ import annotations

from app.base.scopes import KeyScope
from app.codecs.stored.export import MEDIA_TYPE as ARROW
from app.edge.http.changes import change_handler
from app.edge.http.documents import openapi, parameters
from app.edge.http.documents.refusals import (
    ELSEWHERE,
    MANY_STREAMS,
    NO_FORMAT,
    NO_ROW,
    NO_ROWS,
    NO_RUN,
    NO_TOPIC,
    NOT_NOW,
    TOO_MUCH,
)
from app.edge.http.evidence import evidence_handler
from app.edge.http.operation import health, metrics
from app.edge.http.page import first_page as page
from app.edge.http.page import zones
from app.edge.http.positions.reaching import position_reached
from app.edge.http.results import result_handlers
from app.edge.http.route import CALLERS, EXPORTS, ROWS, SEARCHES, STATEMENTS, STREAMS, WORKERS, Route
from app.edge.http.rows import export_handler, view_handlers
from app.edge.http.runs import run_handlers
from app.edge.http.sql import sql_handler, tables_handler
from app.edge.http.sql.gather_tables import OWN_TABLES
from app.edge.http.tasks import task_handlers
from app.edge.http.tasks.gather_tasks import OWN_TASKS

VIEWS, RESULTS, TASKS, SQL, RUNS = "views", "results", "tasks", "sql", "reconciliation"
INTERNAL, OPERATION, PAGE = "internal", "operation", "page"

ROUTES = (
    Route("/", page.page, "page", PAGE, "The first page.", media_type="text/html", gate=CALLERS, refuses=NO_ROWS),
    Route(
        "/static/{file}",
        page.static,
        "static",
        PAGE,
        "What the page is drawn with.",
        media_type="text/css",
        scope=None,
        parameters=parameters.of_file,
    ),
    Route("/v1/zones", zones.show_zones, "zones", VIEWS, "Where zones lie, and their names.", "Zones"),
    Route("/v1/views", view_handlers.list_views, "views", VIEWS, "The views and their definitions.", "Views"),
    Route(
        "/v1/views/{view}",
        view_handlers.show_view,
        "view",
        VIEWS,
        "A view and its tasks.",
        "ViewState",
        gate=CALLERS,
        parameters=parameters.of_view,
        refuses=NOT_NOW,
    ),
    Route(
        "/v1/views/{view}/rows",
        view_handlers.show_rows,
        "rows",
        VIEWS,
        "Rows, merged over all tasks.",
        ROWS,
        gate=CALLERS,
        before=position_reached,
        parameters=parameters.of_rows,
        refuses=NOT_NOW | NO_FORMAT | TOO_MUCH,
    ),
    Route(
        "/v1/views/{view}/changes",
        change_handler.show_changes,
        "changes",
        VIEWS,
        "Rows, and what becomes of them.",
        "Event",
        media_type=change_handler.MEDIA_TYPE,
        gate=STREAMS,
        parameters=parameters.of_changes,
        refuses=NOT_NOW | TOO_MUCH | MANY_STREAMS,
    ),
    Route(
        "/v1/views/{view}/evidence",
        evidence_handler.show_evidence,
        "evidence",
        VIEWS,
        "The records behind a row.",
        "Evidence",
        gate=SEARCHES,
        parameters=parameters.of_evidence,
        refuses=NOT_NOW | NO_ROW | TOO_MUCH,
    ),
    Route(
        "/v1/views/{view}/export",
        export_handler.export,
        "export",
        VIEWS,
        "Rows of a task.",
        media_type=ARROW,
        gate=EXPORTS,
        scope=KeyScope.EXPORT,
        parameters=parameters.of_export,
        refuses=NOT_NOW | ELSEWHERE,
    ),
    Route(
        "/v1/results",
        result_handlers.list_results,
        "results",
        RESULTS,
        "Topics of final rows, joined records and alerts.",
        "Published",
    ),
    Route(
        "/v1/results/{topic}",
        result_handlers.show_results,
        "topic_results",
        RESULTS,
        "Results, the newest first.",
        "Results",
        gate=SEARCHES,
        parameters=parameters.of_results,
        refuses=NOT_NOW | NO_TOPIC,
    ),
    Route(
        "/v1/sql",
        sql_handler.answer_statement,
        "sql",
        SQL,
        "Rows of a SELECT over the views.",
        gate=STATEMENTS,
        refuses=NOT_NOW | NO_FORMAT | TOO_MUCH,
        method="POST",
        also=(sql_handler.MEDIA_TYPES["arrow"],),
        body=sql_handler.StatementBody.model_json_schema(),
    ),
    Route(
        "/v1/tasks",
        task_handlers.list_tasks,
        "tasks",
        TASKS,
        "Where every task stands.",
        "Tasks",
        gate=CALLERS,
        parameters=parameters.of_tasks,
        refuses=NOT_NOW,
    ),
    Route(
        "/v1/reconciliation",
        run_handlers.list_runs,
        "runs",
        RUNS,
        "The last runs of the reconciliation.",
        "Runs",
        gate=CALLERS,
        parameters=parameters.of_runs,
    ),
    Route(
        "/v1/reconciliation/{run}",
        run_handlers.show_report,
        "run",
        RUNS,
        "The report of a run.",
        gate=CALLERS,
        parameters=parameters.of_run,
        refuses=NO_RUN,
    ),
    Route(
        "/v1/reconciliation/{run}/page",
        run_handlers.show_page,
        "run_page",
        RUNS,
        "The report of a run for readers.",
        media_type="text/html",
        gate=CALLERS,
        parameters=parameters.of_run,
        refuses=NO_RUN,
    ),
    Route(
        OWN_TASKS,
        task_handlers.give_tasks,
        "own_tasks",
        INTERNAL,
        "For workers.",
        "Parts",
        gate=WORKERS,
        scope=KeyScope.WORKERS,
        parameters=parameters.of_own_tasks,
        refuses=NOT_NOW,
    ),
    Route(
        "/v1/internal/views/{view}/parts",
        view_handlers.give_parts,
        "parts",
        INTERNAL,
        "For workers.",
        "Parts",
        gate=WORKERS,
        scope=KeyScope.WORKERS,
        parameters=parameters.of_parts,
        refuses=NOT_NOW | TOO_MUCH,
    ),
    Route(
        OWN_TABLES,
        tables_handler.give_tables,
        "own_tables",
        INTERNAL,
        "For workers.",
        gate=WORKERS,
        scope=KeyScope.WORKERS,
        parameters=parameters.of_own_tables,
        refuses=NOT_NOW | TOO_MUCH,
    ),
    Route(
        "/livez",
        health.livez,
        "livez",
        OPERATION,
        "Whether the process answers.",
        "Alive",
        scope=None,
        refuses=NOT_NOW,
    ),
    Route(
        "/readyz",
        health.readyz,
        "readyz",
        OPERATION,
        "Whether queries are answered.",
        "Ready",
        scope=None,
        refuses=NOT_NOW,
    ),
    Route("/metrics", metrics.metrics, "metrics", OPERATION, "For Prometheus.", media_type="text/plain"),
    Route("/openapi.json", openapi.openapi, "openapi", OPERATION, "This description."),
)

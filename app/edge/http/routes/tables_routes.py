"""Addresses of what tasks keep and publish: the page, views, results, SQL."""

from __future__ import annotations

from app.base.scopes import KeyScope
from app.codecs.stored.export import MEDIA_TYPE as ARROW
from app.edge.http.changes import change_handler
from app.edge.http.documents import parameters
from app.edge.http.documents.refusals import (
    ELSEWHERE,
    HISTORY,
    MANY_STREAMS,
    NO_FILE,
    NO_FORMAT,
    NO_ROW,
    NO_ROWS,
    NO_TOPIC,
    NOT_KEPT,
    NOT_NOW,
    SAME,
    TOO_LARGE,
    TOO_MUCH,
)
from app.edge.http.evidence import evidence_handler
from app.edge.http.page import first_page as page
from app.edge.http.page import zones
from app.edge.http.positions.reaching import position_reached
from app.edge.http.results import result_handlers
from app.edge.http.route import (
    CALLERS,
    EXPORTS,
    ROWS,
    SEARCHES,
    STATEMENTS,
    STREAMS,
    Route,
)
from app.edge.http.rows import export_handler, view_handlers
from app.edge.http.sql import sql_handler

TABLES_ROUTES = (
    Route("/", page.page, "page", "page", "The first page.", media_type="text/html", gate=CALLERS, refuses=NO_ROWS),
    Route(
        "/static/{file}",
        page.static,
        "static",
        "page",
        "What the page is drawn with.",
        media_type="text/css",
        scope=None,
        parameters=parameters.of_file,
        refuses=NO_FILE,
    ),
    Route(
        "/favicon.ico",
        page.icon,
        "icon",
        "page",
        "The icon, where browsers look for one.",
        media_type="image/svg+xml",
        scope=None,
    ),
    Route("/v1/zones", zones.show_zones, "zones", "views", "Where zones lie, and their names.", "Zones"),
    Route("/v1/views", view_handlers.list_views, "views", "views", "The views and their definitions.", "Views"),
    Route(
        "/v1/views/{view}",
        view_handlers.show_view,
        "view",
        "views",
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
        "views",
        "Rows, merged over all tasks.",
        ROWS,
        gate=CALLERS,
        before=position_reached,
        parameters=parameters.of_rows,
        refuses=NOT_NOW | SAME | HISTORY | NO_FORMAT | TOO_MUCH,
    ),
    Route(
        "/v1/views/{view}/changes",
        change_handler.show_changes,
        "changes",
        "views",
        "Rows, and what becomes of them.",
        "Event",
        media_type=change_handler.MEDIA_TYPE,
        gate=STREAMS,
        parameters=parameters.of_changes,
        refuses=NOT_NOW | NOT_KEPT | NO_FORMAT | TOO_MUCH | MANY_STREAMS,
    ),
    Route(
        "/v1/views/{view}/evidence",
        evidence_handler.show_evidence,
        "evidence",
        "views",
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
        "views",
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
        "results",
        "Topics of final rows, joined records and alerts.",
        "Published",
    ),
    Route(
        "/v1/results/{topic}",
        result_handlers.show_results,
        "topic_results",
        "results",
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
        "sql",
        "Rows of a SELECT over the views.",
        gate=STATEMENTS,
        refuses=NOT_NOW | NO_FORMAT | TOO_LARGE | TOO_MUCH,
        method="POST",
        also=(sql_handler.MEDIA_TYPES["arrow"],),
        body=sql_handler.StatementBody.model_json_schema(),
    ),
)

"""Addresses of those who run workers: tasks, reconciliations, health, metrics, the API document."""

from __future__ import annotations

from app.edge.http.documents import openapi, parameters
from app.edge.http.documents.refusals import (
    NO_RUN,
    NOT_NOW,
)
from app.edge.http.operation import health, metrics
from app.edge.http.route import (
    CALLERS,
    Route,
)
from app.edge.http.runs import run_handlers
from app.edge.http.tasks import task_handlers

OPERATION_ROUTES = (
    Route(
        "/v1/tasks",
        task_handlers.list_tasks,
        "tasks",
        "tasks",
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
        "reconciliation",
        "The last runs of the reconciliation.",
        "Runs",
        gate=CALLERS,
        parameters=parameters.of_runs,
    ),
    Route(
        "/v1/reconciliation/{run}",
        run_handlers.show_report,
        "run",
        "reconciliation",
        "The report of a run.",
        gate=CALLERS,
        parameters=parameters.of_run,
        refuses=NO_RUN,
    ),
    Route(
        "/v1/reconciliation/{run}/page",
        run_handlers.show_page,
        "run_page",
        "reconciliation",
        "The report of a run for readers.",
        media_type="text/html",
        gate=CALLERS,
        parameters=parameters.of_run,
        refuses=NO_RUN,
    ),
    Route(
        "/livez",
        health.livez,
        "livez",
        "operation",
        "Whether the process answers.",
        "Alive",
        scope=None,
        refuses=NOT_NOW,
    ),
    Route(
        "/readyz",
        health.readyz,
        "readyz",
        "operation",
        "Whether queries are answered.",
        "Ready",
        scope=None,
        refuses=NOT_NOW,
    ),
    Route("/metrics", metrics.metrics, "metrics", "operation", "For Prometheus.", media_type="text/plain"),
    Route("/openapi.json", openapi.openapi, "openapi", "operation", "This description."),
)

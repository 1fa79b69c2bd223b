"""Addresses by which workers ask one another."""

from __future__ import annotations

from app.base.scopes import KeyScope
from app.edge.http.documents import parameters
from app.edge.http.documents.intake_schema import BROUGHT
from app.edge.http.documents.refusals import (
    NO_VIEW,
    NOT_NOW,
    NOT_TAKEN,
    TOO_MUCH,
)
from app.edge.http.intake import intake_handler
from app.edge.http.intake.brought import JSON, LINES
from app.edge.http.route import (
    SENT_ON,
    WORKERS,
    Route,
)
from app.edge.http.rows import view_handlers
from app.edge.http.sql import tables_handler
from app.edge.http.sql.gather_tables import OWN_TABLES
from app.edge.http.tasks import task_handlers
from app.edge.http.tasks.gather_tasks import OWN_TASKS

INTERNAL_ROUTES = (
    Route(
        OWN_TASKS,
        task_handlers.give_tasks,
        "own_tasks",
        "internal",
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
        "internal",
        "For workers.",
        "Parts",
        gate=WORKERS,
        scope=KeyScope.WORKERS,
        parameters=parameters.of_parts,
        refuses=NOT_NOW | TOO_MUCH,
    ),
    Route(
        intake_handler.OWN_INTAKE,
        intake_handler.take_from_worker,
        "own_intake",
        "internal",
        "For workers.",
        "Taken",
        gate=SENT_ON,
        scope=KeyScope.WORKERS,
        parameters=parameters.of_own_intake,
        refuses=NOT_TAKEN,
        method="POST",
        body=BROUGHT,
        sent=(JSON, LINES),
    ),
    Route(
        OWN_TABLES,
        tables_handler.give_tables,
        "own_tables",
        "internal",
        "For workers.",
        gate=WORKERS,
        scope=KeyScope.WORKERS,
        parameters=parameters.of_own_tables,
        refuses=NOT_NOW | NO_VIEW | TOO_MUCH,
    ),
)

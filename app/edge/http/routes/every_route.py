"""Every address of the worker, once: the application serves this list, and the API document describes it."""

from __future__ import annotations

from app.edge.http.routes.internal_routes import INTERNAL_ROUTES
from app.edge.http.routes.operation_routes import OPERATION_ROUTES
from app.edge.http.routes.tables_routes import TABLES_ROUTES
from app.edge.http.routes.topics_routes import TOPICS_ROUTES

ROUTES = (*TABLES_ROUTES, *TOPICS_ROUTES, *OPERATION_ROUTES, *INTERNAL_ROUTES)

"""The edge as an aiohttp application: `create_app` wires it, `create_runner` readies it for an event loop.

The worker runs it inside Faust's own loop:

    runner = create_runner(create_app(directory, VIEWS, settings.data_dir))
    await runner.setup()
    await web.TCPSite(runner, settings.worker.http_host, settings.worker.http_port).start()
    ...
    await runner.cleanup()
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import ClientSession, web
from prometheus_client import CollectorRegistry

from app.codecs.export import record_batch
from app.domain.view import View
from app.edge.http.context import EDGE, Edge
from app.edge.http.metrics import add_metrics, timed
from app.edge.http.openapi import DOCUMENT, api_document
from app.edge.http.problems import problem_middleware
from app.edge.http.routes import ROUTES
from app.edge.http.rows_query import check_parameter_names
from app.edge.http.security import bounded_address, secure_headers
from app.engine.directory import Directory
from app.engine.state import ViewState

SHUTDOWN_SECONDS = 2.0


def create_app(
    directory: Directory,
    views: tuple[View, ...],
    data_dir: Path,
    *,
    registry: CollectorRegistry | None = None,
) -> web.Application:
    """The application of one worker.

    `data_dir` is where `flagfall reconcile` leaves its verdict; `registry` may hold metrics of the worker's
    own, shown beside those of the tables.
    """
    for view in views:
        check_parameter_names(view)
        record_batch(view, *ViewState(view).select())  # what Arrow loads late is loaded before the loop runs
    app = web.Application(middlewares=[timed, problem_middleware, bounded_address])
    app[EDGE] = Edge(directory, {view.name: view for view in views}, data_dir)
    app[DOCUMENT] = api_document(ROUTES, views)
    add_metrics(app, app[EDGE], registry or CollectorRegistry())
    app.on_response_prepare.append(secure_headers)
    app.cleanup_ctx.append(_session)
    for route in ROUTES:
        app.router.add_get(route.path, route.handler, name=route.name)
    return app


def create_runner(app: web.Application) -> web.AppRunner:
    """A runner that leaves signals to Faust and does not wait long for slow clients when the worker stops."""
    return web.AppRunner(app, handle_signals=False, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS)


async def _session(app: web.Application) -> AsyncIterator[None]:
    async with ClientSession() as session:
        app[EDGE].session = session
        yield
    app[EDGE].session = None

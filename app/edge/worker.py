"""One worker: settings to a running Faust application with its agent, its tables and its HTTP edge.

flagfall worker                      (or)
faust -A app.edge.worker worker
"""

from __future__ import annotations

import errno
import json
import logging
from typing import Any

import mode
from aiohttp import web

from agents import fold_rides
from app.base.cluster import Cluster
from app.base.errors import RegistryUnavailable, UnknownSchema
from app.base.kafka_clients import aiokafka_options
from app.base.registry import Registry
from app.base.settings import Settings, variable
from app.base.topic_admin import require_topics
from app.domain.errors import FlagfallError
from app.edge.http.application import create_app, create_runner
from app.engine.connections import Connections
from app.engine.directory import Directory
from app.engine.faust_app import FlagfallApp
from app.engine.schemas import SchemaCache
from app.rides.views import VIEWS
from app.topics import topics
from tables import rides

log = logging.getLogger(__name__)


class PortTaken(FlagfallError):
    """Another process listens where this worker should. Choose another port; the message names the variable."""


class HttpEdge(mode.Service):
    """Serves the tables of this worker for as long as the application runs, before it is ready too (as 503)."""

    def __init__(self, directory: Directory, settings: Settings, **options: Any) -> None:
        super().__init__(**options)
        self._directory, self._settings = directory, settings
        self._runner: web.AppRunner | None = None

    async def on_start(self) -> None:
        worker = self._settings.worker
        self._runner = create_runner(create_app(self._directory, VIEWS, self._settings.data_dir))
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, worker.http_host, worker.http_port).start()
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise PortTaken(
                f"port {worker.http_port} on {worker.http_host} is in use: choose another one with "
                f"{variable('worker_http_port')} or flagfall worker --http-port"
            ) from None
        log.info("answers at http://%s:%d", worker.http_host, worker.http_port)

    async def on_stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()


def create_worker(settings: Settings) -> FlagfallApp:
    """The wired application; nothing is connected before it starts."""
    worker = settings.worker
    url = f"http://{worker.http_host}:{worker.http_port}"
    app = FlagfallApp(settings, url)
    directory = Directory(url, session_timeout_seconds=worker.session_timeout_seconds)
    registry = Registry(settings)
    connections = Connections(
        aiokafka_options(settings.kafka),
        Cluster(settings.kafka),
        SchemaCache(_look_up(registry), RegistryUnavailable),
    )
    app.source_table = rides.declare(app, settings, directory, connections)
    fold_rides.attach(app, app.source_table)
    app.edges.append(HttpEdge(directory, settings))
    app.checks.append(lambda: require_topics(settings.kafka, topics(settings)))
    return app


def _look_up(registry: Registry) -> Any:
    def look_up(schema_id: int) -> str | None:
        try:
            return json.dumps(registry.schema_by_id(schema_id))
        except UnknownSchema:
            return None

    return look_up


app = create_worker(Settings.load())

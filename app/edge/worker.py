"""One worker: settings to a running Faust application with its agent, its tables and its HTTP edge.

flagfall worker                      (or)
faust -A app.edge.worker worker
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol

import mode
from prometheus_client import Gauge

from agents.fold import Fold
from app.base.errors import RegistryUnavailable
from app.base.files.history import history_folder
from app.base.files.verdicts import RUNS, LastVerdicts
from app.base.kafka.clients import aiokafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.topic import Topic
from app.base.kafka.topic_admin import require_topics, topic_states
from app.base.registry.client import PATIENT_SECONDS, Registry
from app.base.setting_groups import variable
from app.base.settings import Settings
from app.definitions.load import catalogue_of
from app.definitions.registered import require_fit
from app.domain.errors import FlagfallError
from app.edge.doors import require_guarded, tls_context
from app.edge.http.application import create_app
from app.edge.http.context import ServedGroup
from app.edge.http.listening import listening, may_open_files
from app.edge.http.zone_names import Names, no_names
from app.edge.intake.intake import Intake
from app.edge.published.known_topics import KnownTopics
from app.edge.published.result_log import ResultLog
from app.edge.published.result_topic import published_by
from app.engine.core.definition import TaskDefinition
from app.engine.drive.budget import require_turns
from app.engine.drive.faust_parts.app import FlagfallApp
from app.engine.drive.faust_parts.source_table import SourceTable
from app.engine.drive.kafka.connections import Connections
from app.engine.drive.kafka.held_topic import HeldTopic
from app.engine.drive.kafka.rereading import Rereader
from app.engine.drive.kafka.row_search import RowSearch
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.questions import Check
from app.engine.drive.watch.settings_watch import SettingsWatch
from app.rides.zone_map import zone_map
from app.rights import KafkaRole, require_rights
from app.topics import needed_topics, zones_topic

log = logging.getLogger(__name__)


class Agent(Protocol):
    """The task group that it keeps, and the Faust agent that hands its batches over."""

    def define(self, settings: Settings, /) -> TaskDefinition: ...

    def attach(self, app: Any, table: SourceTable, /) -> Any: ...


class PortTaken(FlagfallError):
    """Another process listens where this worker should. Choose another port; the message names the variable."""


class HttpEdge(mode.Service):
    """Serves the tables of this worker for as long as the application runs, before it is ready too (as 503)."""

    def __init__(
        self,
        app: FlagfallApp,
        settings: Settings,
        names: Names,
        connections: Connections,
        topics: KnownTopics,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._app, self._settings, self._names, self._connections = app, settings, names, connections
        self._topics = topics
        self._listening = AsyncExitStack()

    async def on_start(self) -> None:
        worker = self._settings.worker
        served = [self._served(table) for table in self._app.groups]
        liveness, registry = self._app.liveness, self._app.registry
        made = create_app(
            served,
            LastVerdicts(self._settings.data_dir / RUNS, self._settings.app_id),
            liveness=liveness,
            registry=registry,
            names=self._names,
            limits=self._settings.http,
            awaited_schemas=lambda: self._connections.schemas.awaited,
            history=history_folder(self._settings.history_dir, self._settings.app_id),
            zone_map=zone_map(self._settings.http.zone_shapes_file),
            access=self._settings.access,
            results=ResultLog(self._settings.app_id, self._connections),
            intake=self._intake(served) if self._settings.http.intake else None,
            topics=self._topics,
        )
        tls = tls_context(worker)
        may_open_files()
        try:
            await self._listening.enter_async_context(listening(made, worker.http_host, worker.http_port, tls))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise PortTaken(
                f"port {worker.http_port} on {worker.http_host} is in use: choose another one with "
                f"{variable('worker_http_port')} or flagfall worker --http-port"
            ) from None
        log.info("answers at %s, which others know as %s", worker.local_url, worker.url)

    def _served(self, table: SourceTable) -> ServedGroup:
        definition = table.definition
        rereader = Rereader(definition.application, self._connections)
        searcher = RowSearch(definition, self._connections, rereader)
        published = published_by(definition)
        return ServedGroup(table.name, table.directory, definition.views, definition.sources, searcher, published)

    def _intake(self, served: Sequence[ServedGroup]) -> Intake:
        """Into topics that nobody of the application writes."""
        sources = [source for group in served for source in group.sources]
        return Intake(self._settings, sources, [one.topic for group in served for one in group.published])

    async def on_stop(self) -> None:
        await self._listening.aclose()


def create_worker(
    settings: Settings, agents: Sequence[Agent], needed: Sequence[Topic], checks: Sequence[Check] = ()
) -> FlagfallApp:
    """The wired application of these agents; nothing is connected before it starts. OpenToStrangers, TurnsTooRare.

    `needed`: topics that must exist as described. `checks`: asked before the group is joined, as these topics are.
    """
    require_guarded(settings)
    require_turns(settings.worker, len(agents) * settings.topics.partitions)
    app = FlagfallApp(settings)
    schemas = SchemaCache(Registry(settings, timeout_seconds=PATIENT_SECONDS).writer_schema, RegistryUnavailable)
    awaited = Gauge(
        "flagfall_schemas_awaited", "Schema ids that tasks wait for the registry for.", registry=app.registry
    )
    awaited.set_function(lambda: len(schemas.awaited))
    connections = Connections(aiokafka_options(settings.kafka), Cluster(settings.kafka), schemas)
    for agent in agents:
        agent.attach(app, app.keep(agent.define(settings), connections))
    names, told = no_names(), [*needed, zones_topic(settings)]
    app.edges += [
        HttpEdge(app, settings, names, connections, KnownTopics(settings.kafka, told, connections.cluster)),
        HeldTopic(names, connections),
        SettingsWatch(lambda: topic_states(settings.kafka, needed), app.registry),
    ]
    app.checks += [lambda: require_topics(settings.kafka, needed), *checks, app.own_address.require]
    return app


def create_catalogue_worker(settings: Settings) -> FlagfallApp:
    """The worker of all that the settings name: the rides, and what the definition file adds."""
    catalogue = catalogue_of(settings)
    agents, needed = [Fold(group) for group in catalogue.groups], needed_topics(settings, catalogue)
    made = create_worker(settings, agents, needed, [lambda: require_fit(settings, catalogue)])
    made.checks.insert(0, lambda: require_rights(settings, catalogue, KafkaRole.WORKER))
    return made


app = create_catalogue_worker(Settings.load())

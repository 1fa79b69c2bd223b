"""The tables over rides: one per view of `app.rides.views`, all in the changelog of their source."""

from __future__ import annotations

from app.base.settings import Settings
from app.engine.connections import Connections
from app.engine.directory import Directory
from app.engine.faust_app import FlagfallApp
from app.engine.source_table import SourceTable
from app.engine.task import TaskDefinition
from app.rides.ride import RIDES
from app.rides.views import VIEWS


def declare(app: FlagfallApp, settings: Settings, directory: Directory, connections: Connections) -> SourceTable:
    """Register the tables with the application."""
    table = SourceTable(
        app,
        TaskDefinition(settings.app_id, RIDES, VIEWS),
        directory,
        connections,
        partitions=settings.topics.partitions,
        hold_records=settings.worker.hold_records,
        grace_seconds=settings.worker.session_timeout_seconds,
    )
    app.tables.add(table)
    return table

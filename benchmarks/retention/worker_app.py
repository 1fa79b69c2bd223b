"""The application of the benched worker: `app.edge.worker` with views that keep three days."""

from __future__ import annotations

from typing import Any

from agents import fold
from app.base.settings import Settings
from app.edge.worker import create_worker
from app.engine.core.definition import TaskDefinition
from app.engine.drive.faust_parts.source_table import SourceTable
from benchmarks.retention.views import define


class FoldKeptForDays:
    """The agent `agents.fold` over other views."""

    def define(self, settings: Settings) -> TaskDefinition:
        return define(settings)

    def attach(self, app: Any, table: SourceTable) -> Any:
        return fold.attach(app, table)


app = create_worker(Settings.load(), agents=(FoldKeptForDays(),), needed=())

"""Folds the records of a task group into its tables.

Reads the topics of the group's sources and the requests to raise their watermarks. Keeps the tables over them. Sends on
late and unusable records, to `<app>.late` and `<app>.quarantine`, in the same transaction as the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import faust

from app.base.settings import Settings
from app.domain.catalogue import TaskGroup
from app.engine.core.definition import TaskDefinition
from app.engine.drive.faust_parts.driver import BatchSchema
from app.engine.drive.faust_parts.source_table import SourceTable
from tables import groups


@dataclass(frozen=True)
class Fold:
    """The agent of one task group."""

    group: TaskGroup

    def define(self, settings: Settings) -> TaskDefinition:
        """The task group that this agent keeps."""
        return groups.define(self.group, settings)

    def attach(self, app: faust.App, table: SourceTable) -> Any:
        """Register the agent; it keeps `table`."""
        return attach(app, table)


def attach(app: faust.App, table: SourceTable) -> Any:
    """Register an agent that hands all inputs of the table's group over to it."""
    inputs = app.topic(*table.definition.topics, schema=BatchSchema())

    @app.agent(inputs, name=f"agents.fold_{table.definition.name}")  # type: ignore[untyped-decorator]
    async def fold(stream: Any) -> None:
        """Fold records into the tables, batch by batch."""
        async for event in stream.noack().events():
            table.offer(event)

    return fold

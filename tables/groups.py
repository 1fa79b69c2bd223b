"""The tables of a task group: one per view of it, all in the changelog of their sources."""

from __future__ import annotations

from app.base.settings import Settings
from app.definitions.registered import register_schemas
from app.domain.catalogue import TaskGroup
from app.engine.core.definition import TaskDefinition


def define(group: TaskGroup, settings: Settings) -> TaskDefinition:
    """What every task of the group has in common."""
    return TaskDefinition(
        settings.app_id,
        group.sources,
        group.views,
        finals=tuple(view.name for view in group.finals),
        task_count=settings.topics.partitions,
        schema_ids=_schema_ids(group, settings),
        joins=group.joins,
        alerts=group.alerts,
        branches=group.branches,
    )


def _schema_ids(group: TaskGroup, settings: Settings) -> dict[str, int]:
    """Ids of the schemas that joins and alerts write with, by topic. Raises RegistryUnavailable, SchemaRefused."""
    written = [one.source for one in group.pairing]
    return register_schemas(settings, written, own=written)

"""The tables of a task group: one per view of it, all in the changelog of their sources."""

from __future__ import annotations

from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.record_schema import record_schema
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
    registry, schemas = Registry(settings), {one.output.name: record_schema(one.source) for one in group.pairing}
    return {topic: registry.register(f"{topic}-value", schema) for topic, schema in schemas.items()}

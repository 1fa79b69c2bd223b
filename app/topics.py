"""Every topic, once: what the rides come in by, and what the application keeps and tells.

`flagfall topics list` shows it; docs/formats.md says what is in each, byte by byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from app.base import names
from app.base.settings import Settings
from app.base.topic import Cleanup, Topic
from app.domain.source import Source
from app.rides.ride import RIDES, avro_schema

HOUR_MS = 3_600_000
SAFE_REPLICAS = 3
"""From this replication factor on, a write waits for two copies."""


def topics(settings: Settings) -> tuple[Topic, ...]:
    """All topics of one application, in the order of the flow."""
    return (*source_topics(settings), *application_topics(settings))


def source_topics(settings: Settings, source: Source = RIDES) -> tuple[Topic, ...]:
    """The source's own topics. Timestamps are in the data's time, so nothing may be kept by age."""
    return tuple(
        _entry(
            settings,
            topic.name,
            f"{source.key} as text; 264 where there is none",
            f"Avro {source.record}",
            f"Rides as they were reported, service {topic.name.rpartition('.')[2]}.",
            subject=f"{topic.name}-value",
        )
        for topic in source.topics
    )


def application_topics(settings: Settings, source: Source = RIDES) -> tuple[Topic, ...]:
    """What the application keeps beside its source. Timestamps are wall clock."""
    app, as_it_came = settings.app_id, "the record's own bytes"
    return (
        _entry(
            settings,
            names.changelog_topic(app, source.name),
            "row, marker or block",
            "cells, or the marker's JSON",
            "The tables' state; partition p belongs to task p. Read it committed.",
            cleanup="compact",
            config={"min.compaction.lag.ms": str(HOUR_MS), "delete.retention.ms": str(24 * HOUR_MS)},
        ),
        _entry(
            settings,
            names.late_topic(app),
            as_it_came,
            as_it_came,
            "Records that came after a window had closed, with the views that refused them.",
        ),
        _entry(
            settings,
            names.quarantine_topic(app),
            as_it_came,
            as_it_came,
            "Records that cannot be used, with the reason.",
        ),
        _entry(
            settings,
            names.advance_requests_topic(app, source.name),
            "none",
            "JSON {topic, partition, watermark_us}",
            "Please raise this watermark; partition p is an input of task p.",
        ),
        _entry(
            settings,
            names.advances_topic(app),
            "<topic>-<partition>",
            "JSON {topic, partition, at_offset, watermark_us}",
            "Watermarks raised without a record: an input of every recomputation, never deleted.",
        ),
    )


def value_schemas(settings: Settings) -> dict[str, dict[str, Any]]:
    """Registry subject to Avro schema."""
    return {topic.subject: avro_schema() for topic in topics(settings) if topic.subject is not None}


def topic_named(settings: Settings, name: str) -> Topic:
    """The entry of that name; KeyError naming those there are."""
    entries = {topic.name: topic for topic in topics(settings)}
    if name not in entries:
        raise KeyError(f"no topic {name!r} in the list; there are: {', '.join(entries)}")
    return entries[name]


def _entry(
    settings: Settings,
    name: str,
    key: str,
    value: str,
    help: str,
    *,
    cleanup: Cleanup = "delete",
    subject: str | None = None,
    config: Mapping[str, str] = MappingProxyType({}),
) -> Topic:
    replicas = settings.topics.replication_factor
    safe = {"min.insync.replicas": "2"} if replicas >= SAFE_REPLICAS else {}
    partitions = settings.topics.partitions
    return Topic(name, key, value, partitions, replicas, cleanup, help, subject=subject, config={**config, **safe})

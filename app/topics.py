"""Every topic, once: what the records come in by, and what the application keeps and tells.

`flagfall topics list` shows it; docs/formats.md says what is in each, byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from app.base import names
from app.base.kafka.topic import SAFE_REPLICAS, Cleanup, Topic
from app.base.settings import Settings
from app.codecs.batches.carrying import BATCH_LIMIT_BYTES
from app.domain.branch import Branch
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.errors import DefinitionError
from app.domain.pairs.pairing import Pairing
from app.domain.source import Source
from app.domain.view import View
from app.rides.shipped import shipped
from app.rides.zones import ZONES_TOPIC

HOUR_MS = 3_600_000
REMEMBERED_MS = 24 * HOUR_MS
"""So long a request's idempotency key counts."""


def topics(settings: Settings, catalogue: Catalogue | None = None) -> tuple[Topic, ...]:
    """All topics of one application, in the order of the flow; without a catalogue, of one without definitions.

    DefinitionError if a source reads a topic that the application itself writes.
    """
    return (*needed_topics(settings, catalogue), zones_topic(settings))


def needed_topics(settings: Settings, catalogue: Catalogue | None = None) -> tuple[Topic, ...]:
    """Those without which no worker starts: all but what is only joined to answers."""
    catalogue = catalogue or shipped(settings)
    groups, passed_on = catalogue.groups, catalogue.passed_on
    read = [topic for group in groups for source in group.sources for topic in source_topics(settings, source)]
    written = {topic.name: topic for group in groups for topic in written_topics(settings, group)}
    written |= {topic.name: topic for topic in intake_topics(settings)}
    if both := [topic.name for topic in read if topic.name in written.keys() - passed_on]:
        raise DefinitionError("a source cannot read what the application writes", both)
    return (*(topic for topic in read if topic.name not in passed_on), *written.values())


def written_topics(settings: Settings, group: TaskGroup) -> tuple[Topic, ...]:
    """What the tasks of a group keep, publish and send on."""
    return (
        *application_topics(settings, group.name),
        *finals_topics(settings, group.finals),
        *pairing_topics(settings, group.pairing),
        *branch_topics(settings, group.branches),
    )


def source_topics(settings: Settings, source: Source) -> tuple[Topic, ...]:
    """The source's own topics. Timestamps are in the data's time, so nothing may be kept by age. What a worker takes in
    over HTTP fits into them; other producers have bounds of their own."""
    entry = _written if settings.http.intake else _entry
    return tuple(
        entry(
            settings,
            topic.name,
            f"{source.key} as text",
            f"Avro {source.record}",
            source.help or f"Records of {source.name}.",
            subject=names.subject_of(topic.name),
        )
        for topic in source.topics
    )


def application_topics(settings: Settings, group: str) -> tuple[Topic, ...]:
    """What the application keeps beside the sources of a task group. Timestamps are wall clock."""
    app, as_it_came = settings.app_id, "the record's own bytes"
    return (
        _written(
            settings,
            names.changelog_topic(app, group),
            "row, marker or block",
            "cells, or the marker's JSON",
            "The tables' state; partition p belongs to task p. Read it committed.",
            cleanup="compact",
            at_least={"min.compaction.lag.ms": HOUR_MS, "delete.retention.ms": 24 * HOUR_MS},
        ),
        _written(
            settings,
            names.begun_topic(app),
            "<changelog>-<partition>",
            "JSON {changelog_id}",
            "In which changelog each task has begun: one that is made anew is not taken for a task's first.",
            cleanup="compact",
        ),
        _written(
            settings,
            names.late_topic(app),
            as_it_came,
            as_it_came,
            "Records that came after a window had closed, with the views that refused them.",
        ),
        _written(
            settings,
            names.quarantine_topic(app),
            as_it_came,
            as_it_came,
            "Records that cannot be used, with the reason.",
        ),
        _written(
            settings,
            names.advance_requests_topic(app, group),
            "none",
            "JSON {topic, partition, watermark_us}",
            "Please raise this watermark; partition p is an input of task p.",
        ),
        _written(
            settings,
            names.advances_topic(app),
            "<topic>-<partition>",
            "JSON {topic, partition, at_offset, watermark_us}",
            "Watermarks raised without a record: an input of every recomputation, never deleted.",
        ),
        _written(
            settings,
            names.corrections_topic(app, group),
            "none",
            "JSON {run, view, version, window_start_us, group, expected, row, adds}",
            "Please put this row where that one stands; partition p is an input of task p.",
        ),
        _written(
            settings,
            names.corrected_topic(app),
            "as the correction's",
            "JSON {outcome, why, correction}",
            "What became of each correction.",
        ),
        _written(
            settings,
            names.closing_topic(app, group),
            "row or mark",
            "cells, or the mark's JSON",
            "Rows of closed windows on their way to become finals; partition p is an input of task p.",
        ),
    )


def finals_topics(settings: Settings, views: Iterable[View]) -> tuple[Topic, ...]:
    """Where views publish the final rows of their windows."""
    return tuple(
        _written(
            settings,
            names.finals_topic(view.name),
            "JSON {window_start_us, group}",
            "JSON {revision, count, fingerprint, measures, positions}",
            f"Final rows of {view.name}: once per window, group and revision. Read it committed.",
        )
        for view in views
    )


def pairing_topics(settings: Settings, pairing: Sequence[Pairing]) -> tuple[Topic, ...]:
    """Where joins and alerts send what they give; and, where there are joins, what nobody met."""
    outputs = tuple(
        _written(
            settings,
            one.output.name,
            f"{one.source.key} as text",
            f"Avro {one.source.record}",
            f"{one.help[:1].upper()}{one.help[1:]}. Read it committed.",
            subject=names.subject_of(one.output.name),
        )
        for one in pairing
    )
    unmatched = _written(
        settings,
        names.unmatched_topic(settings.app_id),
        "the record's own bytes",
        "the record's own bytes",
        "Halves of joins that nobody met in time, with join, side and origin. Read it committed.",
    )
    return (*outputs, unmatched) if any(one.sends_unmatched for one in pairing) else outputs


def branch_topics(settings: Settings, branches: Iterable[Branch]) -> tuple[Topic, ...]:
    """Where branches send records on, in the partitions that they came from."""
    as_it_came = "the record's own bytes"
    return tuple(
        _written(settings, topic, as_it_came, as_it_came, f"By {branch.name}: {branch.help} Read it committed.")
        for branch in branches
        for topic in branch.outputs
    )


def intake_topics(settings: Settings) -> tuple[Topic, ...]:
    """What is remembered of requests that bring records, where some are taken: as many partitions as lanes, never more,
    and kept for twice as long as it counts."""
    if not settings.http.intake:
        return ()
    entry = _written(
        settings,
        names.received_topic(settings.app_id),
        "a request's idempotency key",
        "JSON {digest, outcomes}",
        "What requests that brought records were answered. Read it committed.",
    )
    return (replace(entry, partitions=names.LANES, retention_ms=2 * REMEMBERED_MS),)


def zones_topic(settings: Settings) -> Topic:
    """Names of zones, held whole by every worker; one partition, so that one offset says which names were used."""
    told = "Names of zones, joined to answers."
    entry = _entry(settings, ZONES_TOPIC, "zone as text", "JSON {zone, name, borough}", told, cleanup="compact")
    return replace(entry, partitions=1)


def _written(
    settings: Settings,
    name: str,
    key: str,
    value: str,
    help: str,
    *,
    at_least: Mapping[str, int] = MappingProxyType({}),
    **told: Any,
) -> Topic:
    """An entry of what workers write: whatever a record that they carry is, it fits."""
    entry = _entry(settings, name, key, value, help, **told)
    return replace(entry, at_least={**at_least, "max.message.bytes": BATCH_LIMIT_BYTES})


def _entry(
    settings: Settings,
    name: str,
    key: str,
    value: str,
    help: str,
    *,
    cleanup: Cleanup = "delete",
    subject: str | None = None,
) -> Topic:
    replicas = settings.topics.replication_factor
    safe = {"min.insync.replicas": "2"} if replicas >= SAFE_REPLICAS else {}
    partitions = settings.topics.partitions
    return Topic(name, key, value, partitions, replicas, cleanup, help, subject=subject, config=safe)

"""Kafka, a connector and a database are asked whether a view's finals are all in the table."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
from confluent_kafka import OFFSET_BEGINNING

from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.committed import committed
from app.base.names import finals_topic
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.domain.view import View
from app.edge.connectors.columns import OFFSET, PARTITION, final_columns, key_columns
from app.edge.connectors.comparison import TableFound, compare
from app.edge.connectors.frames import FinalsRead, NoFinal, held, other_columns, published

LOOKS_APART_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class SinkTable:
    """A table that a connector keeps of a view's finals. `database`: as `postgresql://user@host:port/name`."""

    view: View
    database: str
    table: str
    group: str
    """The connector's, of which Kafka tells how far it is."""

    @property
    def topic(self) -> str:
        """Of the finals."""
        return finals_topic(self.view.name)


@dataclass(frozen=True, slots=True)
class TableSeen:
    """What was found, and from which offset on the connector reads each partition that it has committed one of;
    `no_finals`: records of the topic that are not compared, as they are none."""

    found: TableFound
    reached: dict[int, int]
    no_finals: list[NoFinal]


def look(settings: Settings, kept: SinkTable, wait_seconds: float) -> TableSeen:
    """At the finals that there are when it begins; again until none is to come, for so long.

    Raises ClusterError, LogSilent, LogRefused, DatabaseUnusable.
    """
    cluster = Cluster(settings.kafka)
    partitions = range(cluster.topics([kept.topic])[kept.topic].partitions)
    places = [TopicPartition(kept.topic, partition) for partition in partitions]
    ends = _by_partition(cluster.log_ends(places, committed=True))
    finals, no_finals = _published(settings, kept, dict.fromkeys(partitions, OFFSET_BEGINNING))
    starts = _by_partition(cluster.log_starts(places))
    deadline = time.monotonic() + wait_seconds
    while True:
        # before the table is read: what the connector is past by then is in it
        reached = _by_partition(cluster.group_offsets(kept.group, places))
        rows = held(kept.database, kept.table, finals.schema)
        asked = _with_newer(settings, kept, finals, rows, ends)
        found = compare(asked, rows, key_columns(kept.view), starts, reached)
        if not found.to_come or not found.is_right or time.monotonic() > deadline:
            return TableSeen(found, reached, no_finals)
        time.sleep(LOOKS_APART_SECONDS)


def _with_newer(
    settings: Settings, kept: SinkTable, finals: pl.DataFrame, rows: pl.DataFrame, ends: Mapping[int, int]
) -> pl.DataFrame:
    """The finals, and of those behind `ends` the ones that rows are of: they were published meanwhile."""
    last = dict(rows.group_by(PARTITION).agg(pl.col(OFFSET).max()).iter_rows())
    grown = {partition: end for partition, end in ends.items() if last.get(partition, -1) >= end}
    if not grown:
        return finals
    newer = _published(settings, kept, grown).finals.join(rows, key_columns(kept.view), "semi", nulls_equal=True)
    return pl.concat([finals, newer], how="diagonal").select(finals.columns)


def _published(settings: Settings, kept: SinkTable, starts: Mapping[int, int]) -> FinalsRead:
    """From these offsets on, by partition."""
    columns, client = final_columns(kept.view), librdkafka_options(settings.kafka)
    others = other_columns(kept.database, kept.table, columns)
    messages = (one for partition, start in starts.items() for one in committed(client, kept.topic, partition, start))
    return published(messages, columns, others)


def _by_partition(offsets: dict[TopicPartition, int]) -> dict[int, int]:
    return {place.partition: offset for place, offset in offsets.items()}

"""What Kafka Connect is told so that Debezium's JDBC sink keeps a table of a view's finals."""

from __future__ import annotations

import json
from typing import Any

from app.base.names import finals_topic
from app.domain.view import View
from app.edge.connectors.address import jdbc_url, user
from app.edge.connectors.columns import (
    OFFSET,
    PARTITION,
    PUBLISHED_AT,
    CellType,
    FinalColumn,
    final_columns,
    key_columns,
)

PASSWORD = "${env:PGPASSWORD}"
"""Read by the Connect worker, from its own environment."""
MOST_RECORDS = 2_000
"""At a time, in one statement of the database."""


def sink(view: View, name: str, database: str, table: str, tasks: int = 1) -> dict[str, Any]:
    """The configuration of the connector `name`, for `PUT /connectors/<name>/config`.

    Rows are upserts by the key of a final and its revision, so that what is delivered again changes nothing.
    `database`: as `postgresql://user@host:port/name`. Raises DefinitionError.
    """
    return {
        "name": name,
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "topics": finals_topic(view.name),
        "tasks.max": str(tasks),
        "connection.url": jdbc_url(database),
        "connection.username": user(database),
        "connection.password": PASSWORD,
        "collection.name.format": table,
        "quote.identifiers": "true",
        "schema.evolution": "none",
        "insert.mode": "upsert",
        "primary.key.mode": "record_value",
        "primary.key.fields": ",".join(key_columns(view)),
        # a table that nobody answers for is tried again each second, for less than a group waits for its member
        "connection.restart.on.errors": "true",
        "flush.max.retries": "240",
        "flush.retry.delay.ms": "1000",
        "batch.size": str(MOST_RECORDS),
        "consumer.override.max.poll.records": str(MOST_RECORDS),
        "consumer.override.isolation.level": "read_committed",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "true",
        "value.converter.schema.content": json.dumps(_schema(final_columns(view)), separators=(",", ":")),
        "transforms": "place",
        "transforms.place.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.place.partition.field": PARTITION,
        "transforms.place.offset.field": OFFSET,
        "transforms.place.timestamp.field": PUBLISHED_AT,
    }


def _schema(columns: tuple[FinalColumn, ...]) -> dict[str, Any]:
    """Of the fields that are taken, as Connect's JSON converter is told: finals bring none of their own."""
    return {"type": "struct", "optional": False, "fields": [_field(column) for column in columns]}


def _field(column: FinalColumn) -> dict[str, Any]:
    told = {"field": column.name, "type": column.type.value, "optional": not column.is_always}
    return told | ({"items": {"type": CellType.INTEGER.value}} if column.type is CellType.INTEGERS else {})

"""The Avro schema of a source's record, written from its columns: plain longs, nullable fields default to null."""

from __future__ import annotations

from typing import Any

from app.codecs.avro.column_types import AVRO
from app.domain.source import Column, Source


def record_schema(source: Source) -> dict[str, Any]:
    """An Avro record named as the source names it, in namespace `flagfall`."""
    fields = [_field(column) for column in source.columns]
    return {"type": "record", "name": source.record, "namespace": "flagfall", "doc": source.help, "fields": fields}


def _field(column: Column) -> dict[str, Any]:
    avro_type = AVRO[column.kind].written
    if column.nullable:
        return {"name": column.name, "type": ["null", avro_type], "default": None, "doc": column.help}
    return {"name": column.name, "type": avro_type, "doc": column.help}

"""One record of a source to bytes; `app.codecs.avro.encode` does it for many at once."""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cache
from typing import Any

import fastavro

from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import framing
from app.domain.records import Value
from app.domain.source import Source


def encode_record(source: Source, schema_id: int, values: Mapping[str, Value]) -> bytes:
    """One record in the Confluent framing."""
    out = io.BytesIO(framing(schema_id))
    out.seek(0, io.SEEK_END)
    fastavro.schemaless_writer(out, _parsed(source), dict(values))
    return out.getvalue()


@cache
def _parsed(source: Source) -> Any:
    return fastavro.parse_schema(record_schema(source))

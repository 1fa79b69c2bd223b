"""Records of a few plain schemas, and how the two decoders read them."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Decoded, Packed
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder
from app.domain.source import Column, Kind


def record(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Trip", "fields": list(fields)})


def nullable(name: str, avro_type: str) -> dict[str, Any]:
    return {"name": name, "type": ["null", avro_type], "default": None}


ID = {"name": "id", "type": "string"}
NOW = WriterSchema(7, record(ID, nullable("cents", "long"), nullable("shared", "boolean"), nullable("note", "string")))
OLDER = WriterSchema(3, record(ID, nullable("cents", "long")))
STAMPED = WriterSchema(
    4,
    record(ID, {"name": "cents", "type": {"type": "long", "logicalType": "timestamp-micros"}}),
)
UNKNOWN_ID = 99
SCHEMAS = {NOW.id: NOW, OLDER.id: OLDER, STAMPED.id: STAMPED, UNKNOWN_ID: None}
COLUMNS = (
    Column("id", Kind.TEXT, False),
    Column("cents", Kind.INTEGER, True),
    Column("shared", Kind.FLAG, True),
    Column("note", Kind.TEXT, True),
)
STRICT = StrictDecoder(COLUMNS)


def encoded(schema: WriterSchema = NOW, **values: Any) -> bytes:
    out = io.BytesIO()
    out.write(schema.header)
    fastavro.schemaless_writer(out, schema.parsed, values)
    return out.getvalue()


GOOD = encoded(id="a", cents=3, shared=True, note="x")
ROW = {"id": "a", "cents": 3, "shared": True, "note": "x"}


def decoded(*values: bytes | None) -> Decoded:
    return BlockDecoder(Layout(COLUMNS)).decode(Packed(values), SCHEMAS)

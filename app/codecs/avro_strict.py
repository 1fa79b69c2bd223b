"""One Confluent-framed Avro value at a time: the rule of what is decoded, and the name of what is wrong."""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass

import fastavro

from app.codecs.avro_schema import HEADER_BYTES, Schemas, WriterSchema
from app.domain.records import Reason, Value


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value could not be decoded."""

    reason: Reason


def decode_strict(value: bytes | None, schemas: Schemas) -> dict[str, Value] | Refusal:
    """One value, decoded on its own; every byte must be accounted for."""
    schema = _read_header(value, schemas)
    if isinstance(schema, Refusal):
        return schema
    assert value is not None  # or the header had been refused
    body = io.BytesIO(value)
    body.seek(HEADER_BYTES)
    try:
        decoded = fastavro.schemaless_reader(body, schema.parsed, None)
    except (EOFError, IndexError, ValueError, OverflowError, UnicodeDecodeError, TypeError, MemoryError):
        return Refusal(Reason.UNDECODABLE)  # every error fastavro was seen to raise on damaged bytes
    if body.tell() != len(value):
        return Refusal(Reason.TRAILING_BYTES)
    return dict(decoded)  # type: ignore[arg-type]


def _read_header(value: bytes | None, schemas: Schemas) -> WriterSchema | Refusal:
    if value is None:
        return Refusal(Reason.NULL_VALUE)
    if len(value) <= HEADER_BYTES:
        return Refusal(Reason.TOO_SHORT)
    magic, schema_id = struct.unpack_from(">BI", value)
    if magic != 0:
        return Refusal(Reason.BAD_MAGIC)
    schema = schemas[schema_id]
    return Refusal(Reason.UNKNOWN_SCHEMA) if schema is None else schema

"""One Confluent-framed Avro value at a time: the rule of what is decoded, and the name of what is wrong."""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import fastavro

from app.codecs.avro.admission import is_readable
from app.codecs.avro.schema import HEADER_BYTES, Schemas, WriterSchema
from app.domain.records import Reason, Value, unforeseen
from app.domain.source import Column, Kind


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a value could not be decoded."""

    reason: str


class StrictDecoder:
    """Decodes values of any writer as the columns of one source; remembers which schemas can be read so."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._readable: dict[WriterSchema, bool] = {}

    def can_read(self, schema: WriterSchema) -> bool:
        """Whether values of the schema are decoded at all."""
        if schema not in self._readable:
            self._readable[schema] = is_readable(schema, self._columns)
        return self._readable[schema]

    def decode(self, value: bytes | None, schemas: Schemas) -> dict[str, Value] | Unreadable:
        """One value on its own, by column; every byte must be accounted for. It raises nothing, whatever the bytes.

        A column that the writer does not have is null.
        """
        schema = _read_header(value, schemas)
        if isinstance(schema, Unreadable):
            return schema
        if not self.can_read(schema):
            return Unreadable(Reason.INCOMPATIBLE_SCHEMA)
        assert value is not None  # or the header had been refused
        try:
            return self._read(value, schema)
        except Exception as error:
            return Unreadable(unforeseen(error))

    def _read(self, value: bytes, schema: WriterSchema) -> dict[str, Value] | Unreadable:
        body = io.BytesIO(value)
        body.seek(HEADER_BYTES)
        try:
            decoded = fastavro.schemaless_reader(body, schema.parsed, None)
        except (EOFError, IndexError, ValueError, OverflowError, TypeError, MemoryError):
            return Unreadable(Reason.UNDECODABLE)  # every error fastavro was seen to raise on damaged bytes
        if body.tell() != len(value):
            return Unreadable(Reason.TRAILING_BYTES)
        return self._as_columns(decoded)  # type: ignore[arg-type]

    def _as_columns(self, decoded: dict[str, object]) -> dict[str, Value] | Unreadable:
        """UNDECODABLE if a value is of a union's branch that the column cannot take."""
        values: dict[str, Value] = {}
        for column in self._columns:
            value = decoded.get(column.name)
            if isinstance(value, bytes) and column.kind is Kind.TEXT:
                try:
                    value = value.decode()
                except UnicodeDecodeError:
                    return Unreadable(Reason.UNDECODABLE)
            if value is not None and type(value) is not column.kind.python:
                return Unreadable(Reason.UNDECODABLE)
            values[column.name] = value  # type: ignore[assignment]
        return values


def _read_header(value: bytes | None, schemas: Schemas) -> WriterSchema | Unreadable:
    if value is None:
        return Unreadable(Reason.NULL_VALUE)
    if len(value) <= HEADER_BYTES:
        return Unreadable(Reason.TOO_SHORT)
    magic, schema_id = struct.unpack_from(">BI", value)
    if magic != 0:
        return Unreadable(Reason.BAD_MAGIC)
    schema = schemas[schema_id]
    return Unreadable(Reason.UNKNOWN_SCHEMA) if schema is None else schema

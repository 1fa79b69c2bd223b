"""How Avro writes a source's columns, and what they are read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from app.domain.column import Kind


class AvroType(NamedTuple):
    """Names of Avro types: what we write; what fits a definition; what a value is read from, if need be."""

    written: str
    fitting: tuple[str, ...]
    readable: tuple[str, ...]


_NUMBER = AvroType("long", ("long", "int"), ("long", "int"))

AVRO: Mapping[Kind, AvroType] = {
    Kind.INTEGER: _NUMBER,
    Kind.INSTANT: _NUMBER,
    Kind.IDENTIFIER: _NUMBER,
    Kind.TEXT: AvroType("string", ("string",), ("string", "bytes")),  # Avro lets a reader of strings read bytes
    Kind.FLAG: AvroType("boolean", ("boolean",), ("boolean",)),
}

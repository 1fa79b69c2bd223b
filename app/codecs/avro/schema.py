"""Schemas of those who wrote the records, as the registry holds them."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import fastavro

HEADER_BYTES, MAGIC = 5, b"\0"
"""Of the Confluent framing, which begins every value."""


AVRO = "AVRO"


@dataclass(frozen=True)
class WriterSchema:
    """What a registry holds under an id, whatever that is: `admission` says whether it can be read."""

    id: int
    text: str
    kind: str = AVRO
    """As the registry calls it; others hold PROTOBUF and JSON beside Avro."""

    @cached_property
    def declared(self) -> Any:
        """The schema as JSON; None if it is none, or of another kind."""
        try:
            return json.loads(self.text) if self.kind == AVRO else None
        except (ValueError, RecursionError):
            return None

    @cached_property
    def record(self) -> Any:
        """The schema as JSON, without what reading takes no notice of: defaults, which writers have used already, and
        logical types, so an instant is the number that was written."""
        return _for_reading(self.declared)

    @cached_property
    def parsed(self) -> Any:
        """For fastavro."""
        return fastavro.parse_schema(self.record)

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of what it says, however it is laid out: two of one id are told apart by it."""
        said = self.text if self.declared is None else json.dumps(self.declared, sort_keys=True)
        return hashlib.sha256(f"{self.kind}\n{said}".encode(errors="replace")).hexdigest()[:16]

    @cached_property
    def header(self) -> bytes:
        """What every value of this schema begins with."""
        return struct.pack(">BI", 0, self.id)


Schemas = Mapping[int, WriterSchema | None]
"""Schemas by id; None where the registry says for certain that there is no such id."""


def _for_reading(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_for_reading(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _for_reading(part) for name, part in schema.items() if name not in ("logicalType", "default")}
    return schema


def framing(schema_id: int) -> bytes:
    """The five bytes before every value: magic zero and the registry's schema id, big-endian."""
    return MAGIC + schema_id.to_bytes(HEADER_BYTES - len(MAGIC), "big")

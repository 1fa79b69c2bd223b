"""Schemas of those who wrote the records, as the registry holds them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import fastavro

HEADER_BYTES = 5


@dataclass(frozen=True)
class WriterSchema:
    """A schema under its id."""

    id: int
    text: str

    @cached_property
    def record(self) -> Any:
        """The schema as JSON, without logical types: an instant is the number that was written."""
        return _without_logical_types(json.loads(self.text))

    @cached_property
    def parsed(self) -> Any:
        """For fastavro."""
        return fastavro.parse_schema(self.record)

    @cached_property
    def header(self) -> bytes:
        """What every value of this schema begins with."""
        return struct.pack(">BI", 0, self.id)


Schemas = Mapping[int, WriterSchema | None]
"""Schemas by id; None where the registry says for certain that there is no such id."""


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _without_logical_types(part) for name, part in schema.items() if name != "logicalType"}
    return schema

"""Which writers' schemas can be read as a source's record: decided once for each, by Avro's resolution rules.

A registry may hold anything under an id, and whoever writes to a topic names any id: another kind of schema, one of
another record, or one whose values would keep a reader busy for ever. Nothing here raises.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from app.codecs.avro.fit import can_give
from app.codecs.avro.schema import WriterSchema
from app.domain.source import Column

log = logging.getLogger(__name__)

MAX_SCHEMA_BYTES = 1_000_000
MAX_PARTS = 10_000
"""Fields, items and branches of a schema, named types counted wherever they are used: what one value can take to read
that has no bytes of its own."""
MAX_NESTING = 200
"""Lists and objects of a schema's JSON within one another, where Python's own bound is another in every program."""
_LEAST_BYTES = {"null": 0, "float": 4, "double": 8}
_OTHERS = ("boolean", "int", "long", "string", "bytes")


def is_readable(schema: WriterSchema, columns: Sequence[Column]) -> bool:
    """Whether values of the schema can be read as these columns.

    They are by name. A column that the writer does not have must be nullable. A union will do if one of its branches
    does; values of the others are refused one by one. Schemas that contain themselves, or lists of nothing, are left:
    a few bytes of those can take any time to read.
    """
    try:
        return len(schema.text) <= MAX_SCHEMA_BYTES and is_shallow(schema.declared) and _gives(schema, columns)
    except Exception as error:  # whatever a schema holds: it is one that cannot be read (rule 28)
        log.info("schema %d cannot be read: %r", schema.id, error)
        return False


def is_shallow(declared: Any) -> bool:
    """Whether no more than MAX_NESTING lists and objects lie within one another.

    Asked level by level: nothing here depends on how deep the caller stands.
    """
    level = [declared]
    for _ in range(MAX_NESTING + 1):
        held = (part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list))
        level = [inner for parts in held for inner in parts]
    return not level


def _gives(schema: WriterSchema, columns: Sequence[Column]) -> bool:
    fields = {field["name"]: field["type"] for field in schema.declared["fields"]}
    if schema.declared["type"] != "record" or len(fields) < len(schema.declared["fields"]):
        return False
    for column in columns:
        given = can_give(column, fields[column.name]) if column.name in fields else column.nullable
        if not given:
            return False
    return _Sizes(schema.parsed["__named_schemas"]).of(schema.parsed).parts <= MAX_PARTS


class _Size(NamedTuple):
    """Least bytes of a value, and parts that are looked at to read it."""

    bytes: int
    parts: int


class _Endless(Exception):
    """A type contains itself, or a list's items may be of no bytes."""


class _Sizes:
    """Sizes of types as fastavro has parsed them; each named type is measured once."""

    def __init__(self, named: Mapping[str, Any]) -> None:
        self._named = named
        self._measured: dict[str, _Size | None] = {}
        """None while it is being measured."""

    def of(self, avro_type: Any) -> _Size:
        """_Endless where there is none."""
        if isinstance(avro_type, list):
            sizes = [self.of(branch) for branch in avro_type]
            return _Size(1 + min(size.bytes for size in sizes), 1 + max(size.parts for size in sizes))
        if isinstance(avro_type, str):
            return self._of_name(avro_type)
        match avro_type["type"]:
            case "record" | "error":
                return self._remembered(avro_type)
            case "array" | "map" as kind:
                return self._of_items(avro_type["items" if kind == "array" else "values"], kind)
            case "fixed":
                return _Size(avro_type["size"], 1)
            case "enum":
                return _Size(1, 1)
            case other:
                return self.of(other)

    def _of_name(self, name: str) -> _Size:
        if name in _OTHERS:
            return _Size(1, 1)
        return _Size(_LEAST_BYTES[name], 1) if name in _LEAST_BYTES else self.of(self._named[name])

    def _of_items(self, items: Any, kind: str) -> _Size:
        size = self.of(items)
        if size.bytes == 0 and kind == "array":  # a map's have keys
            raise _Endless
        return _Size(1, 1 + size.parts)

    def _remembered(self, record: Mapping[str, Any]) -> _Size:
        name = record["name"]
        if name not in self._measured:
            self._measured[name] = None
            sizes = [self.of(field["type"]) for field in record["fields"]]
            self._measured[name] = _Size(sum(size.bytes for size in sizes), 1 + sum(size.parts for size in sizes))
        size = self._measured[name]
        if size is None:
            raise _Endless
        return size

"""Whether records written under a schema give a source its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.domain.source import Column, Kind, Source
from app.domain.suggestion import did_you_mean

FITTING: Mapping[Kind, tuple[str, ...]] = {Kind.TEXT: ("string",), Kind.FLAG: ("boolean",)}
NUMBERS = ("long", "int")
INSTANTS = ("timestamp-micros", "local-timestamp-micros")
"""The logical types that a column of microseconds may have; others count something else."""


def misfits(source: Source, schema: Any, *, absent_is_null: bool = False) -> Iterable[str]:
    """What a writer's schema (as JSON) lacks for the source's columns, in words; nothing if it fits.

    `absent_is_null`: whether a nullable column may be missing, as it may in an older version.
    """
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        yield "it is no record"
        return
    fields = {field["name"]: field["type"] for field in schema["fields"]}
    for column in source.columns:
        if column.name in fields:
            yield from (f"field {column.name}: {said}" for said in _misfit(column, fields[column.name]))
        elif not (absent_is_null and column.nullable):
            yield f"there is no field {column.name}{did_you_mean(column.name, fields)}"


def _misfit(column: Column, declared: Any) -> Iterable[str]:
    branches = declared if isinstance(declared, list) else [declared]
    kinds = [branch for branch in branches if branch != "null"]
    if len(kinds) < len(branches) and not column.nullable:
        yield "it may be null, and the column may not: give the column nullable = true"
    fitting = FITTING.get(column.kind, NUMBERS)
    kind = kinds[0] if len(kinds) == 1 else None
    logical = kind.get("logicalType") if isinstance(kind, Mapping) else None
    plain = kind.get("type") if isinstance(kind, Mapping) else kind
    if plain not in fitting:
        yield f"it is {declared}, and {column.kind} columns are read from {' or '.join(fitting)}"
    elif logical is not None and column.kind not in (Kind.TEXT, Kind.FLAG) and logical not in INSTANTS:
        yield f"it counts {logical}, and instants are microseconds since the epoch"

"""Whether records written under a schema give a source its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.codecs.avro.column_types import AVRO
from app.domain.errors import did_you_mean
from app.domain.source import Column, Source

INSTANTS = ("timestamp-micros", "local-timestamp-micros")
"""The logical types that a column of microseconds may have; others count something else."""


def can_give(column: Column, declared: Any) -> bool:
    """Whether a field of this type (as JSON) can hold the column's values, in one of its branches at least."""
    branches = declared if isinstance(declared, list) else [declared]
    return any(_can_give(column, branch) for branch in branches)


def _can_give(column: Column, branch: Any) -> bool:
    plain, logical = _parts(branch)
    if plain == "null":
        return column.nullable
    return plain in AVRO[column.kind].readable and _counts_alike(column, logical) and logical != "decimal"


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
    fitting = AVRO[column.kind].fitting
    plain, logical = _parts(kinds[0] if len(kinds) == 1 else None)
    if plain not in fitting:
        yield f"it is {declared}, and {column.kind} columns are read from {' or '.join(fitting)}"
    elif not _counts_alike(column, logical):
        yield f"it counts {logical}, and instants are microseconds since the epoch"


def _parts(branch: Any) -> tuple[Any, Any]:
    """Type and logical type."""
    return (branch.get("type"), branch.get("logicalType")) if isinstance(branch, Mapping) else (branch, None)


def _counts_alike(column: Column, logical: Any) -> bool:
    return logical is None or not column.kind.is_number or logical in INSTANTS

"""What a test gives as a dict, as the bytes that a producer would send; what does not fit is refused in words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from app.codecs.avro.record import encode_record
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.domain.errors import FlagfallError
from app.domain.records import Value
from app.domain.source import Column, Source
from app.testkit.admission import is_text

_INT64 = range(-(1 << 63), 1 << 63)


class RecordError(FlagfallError, ValueError):
    """A test's record does not fit its source: every mistake at once, one line each."""

    def __init__(self, source: Source, problems: list[str]) -> None:
        super().__init__(f"not a record of source {source.name!r}:\n" + "\n".join(f"  - {p}" for p in problems))


def schema_of(source: Source, schema_id: int) -> WriterSchema:
    """The schema that a producer of the source would have registered."""
    return WriterSchema(schema_id, json.dumps(record_schema(source)))


def encode(source: Source, schema_id: int, values: Mapping[str, Value]) -> bytes:
    """The record in the Confluent framing. Nullable columns may be left out; RecordError if it does not fit."""
    problems = list(_problems(source, values))
    if problems:
        raise RecordError(source, problems)
    return encode_record(source, schema_id, filled(source, values))


def filled(source: Source, values: Mapping[str, Value]) -> dict[str, Value]:
    """The values with null for every column that was left out."""
    return {column.name: values.get(column.name) for column in source.columns}


def _problems(source: Source, values: Mapping[str, Value]) -> Iterator[str]:
    known = {column.name for column in source.columns}
    derived = {d.column.name for d in source.derived}
    for name in values:
        if name in derived:
            yield f"column {name!r} is derived from others; leave it out"
        elif name not in known:
            yield f"no column {name!r}; there are {', '.join(sorted(known))}"
    for column in source.columns:
        yield from _value_problems(column, values.get(column.name))


def _value_problems(column: Column, value: Value) -> Iterator[str]:
    wanted = column.kind.python
    if value is None:
        if not column.nullable:
            yield f"column {column.name!r} may not be null"
    elif type(value) is not wanted:
        yield f"column {column.name!r} is {column.kind}: expected {wanted.__name__}, got {value!r}"
    elif wanted is int and value not in _INT64:
        yield f"column {column.name!r}: {value} does not fit into 64 bits"
    elif isinstance(value, str) and not is_text(value):
        yield f"column {column.name!r}: {value!r} holds half a surrogate pair, which no UTF-8 has"

"""What the walker must do for a writer's schema: one row of numbers for each of its fields.

    fields of the writer         KIND    NULL_BRANCH   SIZE  COLUMN  PLACE  UNIT  LOW   HIGH  REQUIRED
    id: long, column 0           LONG    NOT_NULLABLE  0     0       0      0     min   max   1
    note: ["null", "string"]     TEXT    0             0     1       1      1     0     20    0
    spare: double, no column     SKIPPED NOT_NULLABLE  8     0       -1     0     min   max   0

A body is walked once along the rows, and writes UNITs of `cells`; a text takes two of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.avro import walk
from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.column_types import AVRO
from app.codecs.avro.schema import WriterSchema
from app.domain.source import Column

_NUMBER_BITS = np.iinfo(np.int64)
_READ = {"long": walk.LONG, "int": walk.LONG, "boolean": walk.FLAG, "string": walk.TEXT}
_PASSED_OVER = {
    "null": (walk.SKIPPED, 0),
    "float": (walk.SKIPPED, 4),
    "double": (walk.SKIPPED, 8),
    "bytes": (walk.BYTES, 0),
}


def program_of(schema: WriterSchema, layout: Layout) -> Int64s | None:
    """How to walk a readable schema's bodies into these columns; None if it takes the strict decoder.

    `walk.FIELD_WIDTH` numbers for each field of the writer, in its order. Each must be a primitive or `fixed` or a
    union of one with null, and be walked as its column is.
    """
    columns = {column.name: at for at, column in enumerate(layout.columns)}
    rows = []
    for field in schema.record["fields"]:
        plain = _plain(field["type"])
        if plain is None:
            return None
        at = columns.pop(field["name"], None)
        if at is not None and plain.kind != _READ[AVRO[layout.columns[at].kind].written]:
            return None
        rows.append(_row(plain, at, layout))
    return np.array(rows, np.int64).reshape(-1, walk.FIELD_WIDTH)


class _Plain(NamedTuple):
    kind: int
    size: int
    null_branch: int


def _plain(avro_type: Any) -> _Plain | None:
    null_branch = walk.NOT_NULLABLE
    if isinstance(avro_type, list):
        if len(avro_type) != 2 or "null" not in avro_type:
            return None
        null_at = avro_type.index("null")
        avro_type, null_branch = avro_type[1 - null_at], 2 * null_at  # as written: zig-zag
    kind = _kind(avro_type)
    return None if kind is None else _Plain(*kind, null_branch)


def _kind(avro_type: Any) -> tuple[int, int] | None:
    if isinstance(avro_type, dict) and avro_type["type"] == "fixed":
        return walk.SKIPPED, avro_type["size"]
    name = avro_type["type"] if isinstance(avro_type, dict) else avro_type
    if not isinstance(name, str):
        return None
    return (_READ[name], 0) if name in _READ else _PASSED_OVER.get(name)


def _row(plain: _Plain, at: int | None, layout: Layout) -> tuple[int, ...]:
    if at is None:
        return plain.kind, plain.null_branch, plain.size, 0, -1, 0, _NUMBER_BITS.min, _NUMBER_BITS.max, False
    column = layout.columns[at]
    place, unit = layout.places.get(column.name, (-1, 0))
    low, high = _bounds(column)
    return plain.kind, plain.null_branch, plain.size, at, place, unit, low, high, not column.nullable


def _bounds(column: Column) -> tuple[int, int]:
    """Inclusive bounds of the column's numbers, or of its texts' bytes."""
    low, high = column.bounds
    return _NUMBER_BITS.min if low is None else low, _NUMBER_BITS.max if high is None else high


def plain_schema(columns: Sequence[Column]) -> dict[str, Any]:
    """A schema of all these columns, each nullable, that can be walked."""
    fields = [{"name": column.name, "type": ["null", AVRO[column.kind].written]} for column in columns]
    return {"type": "record", "name": "Plain", "fields": fields}

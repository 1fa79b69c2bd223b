"""The rows of a statement as bytes: JSON, or an Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from app.codecs.stored.arrow_columns import arrow_stream, with_meta

JSON, ARROW = "json", "arrow"


class Unwritable(Exception):
    """Rows that a format cannot hold, with the reason in words."""


def as_json(rows: pa.Table, meta: dict[str, Any]) -> bytes:
    """Columns by name and type, rows as lists in their order, and meta."""
    columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
    for name, values in _plain_values(rows):
        if pa.types.is_floating(values.type) and pc.any(pc.invert(pc.is_finite(values))).as_py():
            raise Unwritable(f"column {name!r} holds what is no number to JSON; cast it to VARCHAR")
    try:
        held = [column.to_pylist() for column in rows.columns]
        data = [list(row) for row in zip(*held, strict=True)] if held else []
        return orjson.dumps({"columns": columns, "data": data, "meta": meta}, _plain, orjson.OPT_UTC_Z)
    except (OverflowError, ValueError, orjson.JSONEncodeError) as error:
        raise Unwritable(f"a value has no place in JSON ({error}); cast it to VARCHAR") from error


def as_arrow(rows: pa.Table, meta: dict[str, Any]) -> bytes:
    """An IPC stream; `meta` as JSON in the metadata of its schema, where nobody would look for `cut`."""
    if meta["cut"]:
        raise Unwritable(f"it has more than {meta['rows']:,} rows, of which a stream would lack the others")
    for name, values in _plain_values(rows):
        if pa.types.is_decimal(values.type) and not _is_within(values):
            why = f"column {name!r} is HUGEINT, and holds more than the 38 digits of Arrow's {values.type}"
            raise Unwritable(f"{why}; cast it to VARCHAR")
    return arrow_stream(with_meta(rows, meta))


def _plain_values(rows: pa.Table) -> Iterator[tuple[str, pa.Array[Any]]]:
    """Those that consist of no others, by the names of their columns. Unwritable where no format has a time of them."""
    for field, column in zip(rows.schema, rows.columns, strict=True):
        for values in (plain for chunk in column.chunks for plain in _within(chunk)):
            if pa.types.is_time(values.type) and not _is_within(values):
                why = f"column {field.name!r} holds 24:00:00, which is no time of a day in JSON or Arrow"
                raise Unwritable(f"{why}; cast it to VARCHAR")
            yield field.name, values


def _within(values: Any) -> Iterator[pa.Array[Any]]:
    """An array, or all that its lists, structs, maps and unions have: nothing of slices left out, or below a null."""
    kind = values.type
    if not pa.types.is_nested(kind):
        yield values
        return
    if pa.types.is_map(kind):
        parts = [pa.ListArray.from_arrays(values.offsets, part).flatten() for part in (values.keys, values.items)]
    elif pa.types.is_struct(kind):
        parts = values.flatten()
    elif pa.types.is_union(kind):
        parts = [values.field(number) for number in range(kind.num_fields)]
    else:
        parts = [values.flatten()]
    for part in parts:
        yield from _within(part)


def _is_within(values: pa.Array[Any]) -> bool:
    """Whether all are within their type: DuckDB gives a HUGEINT, of 39 digits, as one of 38, and a day's end."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


WRITTEN = {JSON: as_json, ARROW: as_arrow}
"""By the names of formats."""


def _plain(value: Any) -> Any:
    """Of what JSON does not know: decimals as numbers with all their digits, intervals by ISO 8601, bytes in hex."""
    match value:
        case Decimal():
            return orjson.Fragment(str(value).encode())
        case pa.MonthDayNano():
            return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:.15g}S"
        case bytes():
            return value.hex()
        case _:
            return str(value)

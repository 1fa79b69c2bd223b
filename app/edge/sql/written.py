"""The rows of a statement as bytes: JSON, or an Arrow stream."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from app.codecs.stored.arrow_columns import arrow_stream, with_meta

JSON, ARROW = "json", "arrow"
DECIMAL = "decimal"


class Unwritable(Exception):
    """Rows that a format cannot hold, with the reason in words."""


def as_json(rows: pa.Table, meta: dict[str, Any]) -> bytes:
    """Columns by name and type, rows as lists in their order, and meta."""
    columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
    for field, values in zip(rows.schema, rows.columns, strict=True):
        if pa.types.is_floating(field.type) and pc.any(pc.invert(pc.is_finite(values))).as_py():
            raise Unwritable(f"column {field.name!r} holds what is no number to JSON; cast it to VARCHAR")
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
    for field, values in zip(rows.schema, rows.columns, strict=True):
        if DECIMAL in str(field.type):
            _require_held(field, values)
    return arrow_stream(with_meta(rows, meta))


def _require_held(field: pa.Field[Any], values: pa.ChunkedArray[Any]) -> None:
    """That its decimals are none of more digits than their type has: DuckDB gives a HUGEINT, of 39, as one of 38."""
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        why = f"column {field.name!r} is HUGEINT, and holds more than the 38 digits of Arrow's {field.type}"
        raise Unwritable(f"{why}; cast it to VARCHAR") from None


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

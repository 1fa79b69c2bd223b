"""The rows of a statement as bytes: JSON, or an Arrow stream."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa

JSON, ARROW = "json", "arrow"
INT64 = 1 << 63


class Unwritable(Exception):
    """Rows that a format cannot hold, with the reason in words."""


def as_json(rows: pa.Table, meta: dict[str, Any]) -> bytes:
    """Columns by name and type, rows as lists in their order, and meta."""
    columns = [{"name": field.name, "type": str(field.type)} for field in rows.schema]
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
    sink = pa.BufferOutputStream()
    told = {"flagfall-meta": orjson.dumps(meta)}
    with pa.ipc.new_stream(sink, rows.schema.with_metadata(told)) as stream:
        stream.write_table(rows)
    return sink.getvalue().to_pybytes()


WRITTEN = {JSON: as_json, ARROW: as_arrow}
"""By the names of formats."""


def _plain(value: Any) -> Any:
    """Of what JSON does not know: whole numbers as such, what would lose digits as text, intervals by ISO 8601."""
    match value:
        case Decimal() if value == value.to_integral_value() and -INT64 <= value < INT64:
            return int(value)
        case pa.MonthDayNano():
            return f"P{value.months}M{value.days}DT{value.nanoseconds / 1e9:.15g}S"
        case bytes():
            return value.hex()
        case _:
            return str(value)

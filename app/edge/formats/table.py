"""Every format of rows, once: the first is the one that who names none gets."""

from __future__ import annotations

from app.edge.formats import columns, csv_rows, json_rows, line_rows
from app.edge.formats.format import MOST_IN_COLUMNS, Format

ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"

FORMATS = (
    Format("json", "application/json", "JSON", json_rows.encode, json_rows.schema, joined=json_rows.joined),
    Format(
        "ndjson",
        "application/x-ndjson",
        "a line of JSON for each row",
        line_rows.encode,
        line_rows.schema,
        joined=line_rows.joined,
    ),
    Format(
        "csv",
        "text/csv",
        "comma-separated values",
        csv_rows.encode,
        csv_rows.schema,
        has_meta=False,
        joined=csv_rows.joined,
    ),
    Format(
        "arrow",
        ARROW,
        "an Arrow stream",
        columns.as_arrow,
        columns.schema,
        MOST_IN_COLUMNS,
        is_text=False,
        joined=columns.joined_arrow,
    ),
    Format(
        "parquet",
        PARQUET,
        "a Parquet file",
        columns.as_parquet,
        columns.schema,
        MOST_IN_COLUMNS,
        is_text=False,
        joined=columns.joined_parquet,
    ),
)

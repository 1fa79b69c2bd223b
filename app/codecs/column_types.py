"""How Polars and Arrow hold a source's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl
import pyarrow as pa

from app.domain.column import Kind


class ColumnTypes(NamedTuple):
    """Types of a kind's columns; `cells`: how many int64 a value takes where compiled loops write it."""

    polars: pl.DataType
    arrow: pa.DataType
    cells: int


_NUMBER = ColumnTypes(pl.Int64(), pa.int64(), 1)

HELD: Mapping[Kind, ColumnTypes] = {
    Kind.INTEGER: _NUMBER,
    Kind.INSTANT: _NUMBER,
    Kind.IDENTIFIER: _NUMBER,
    Kind.TEXT: ColumnTypes(pl.String(), pa.string(), 2),  # Arrow's view of it: 16 bytes
    Kind.FLAG: ColumnTypes(pl.Boolean(), pa.bool_(), 1),
}

"""A kind of column has a line in each engine's table, and the lines mean the same."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from app.codecs.avro.column_types import AVRO
from app.codecs.avro.program import plain_schema
from app.codecs.column_types import HELD
from app.domain.column import MAX_TEXT_BYTES, TRAITS, Column, Kind
from spark_batch.source.column_types import SPARK

SQL_OF_ARROW = {pa.int64(): "bigint", pa.string(): "string", pa.bool_(): "boolean"}
A_VALUE = {int: 7, str: "x", bool: True}


@pytest.mark.parametrize("table", [TRAITS, HELD, AVRO, SPARK], ids=["python", "held", "avro", "spark"])
def test_every_kind_has_a_line(table: dict[Kind, object]) -> None:
    assert set(table) == set(Kind)


@pytest.mark.parametrize("kind", Kind)
def test_a_value_keeps_its_type_in_every_engine(kind: Kind) -> None:
    column = pl.Series([A_VALUE[kind.python], None], dtype=HELD[kind].polars)
    assert type(column[0]) is kind.python
    assert column.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(HELD[kind].arrow).to_pylist()[1] is None
    assert SQL_OF_ARROW[HELD[kind].arrow] == SPARK[kind].sql
    (field,) = plain_schema([Column("value", kind, True)])["fields"]
    assert field["type"] == ["null", AVRO[kind].written]
    assert AVRO[kind].written in AVRO[kind].fitting
    assert set(AVRO[kind].fitting) <= set(AVRO[kind].readable)


@pytest.mark.parametrize(
    ("column", "value", "is_refused"),
    [
        (Column("n", Kind.INTEGER, False, 1, 3), 3, False),
        (Column("n", Kind.INTEGER, False, 1, 3), 4, True),
        (Column("n", Kind.INTEGER, False, 1, 3), 0, True),
        (Column("n", Kind.INSTANT, False, 1), 0, True),
        (Column("n", Kind.IDENTIFIER, False), -(1 << 63), False),
        (Column("n", Kind.INTEGER, False), None, True),
        (Column("n", Kind.INTEGER, True, 1, 3), None, False),
        (Column("n", Kind.TEXT, True), "é" * (MAX_TEXT_BYTES // 2), False),
        (Column("n", Kind.TEXT, True), "é" * (MAX_TEXT_BYTES // 2 + 1), True),
        (Column("n", Kind.FLAG, False), False, False),
    ],
)
def test_a_column_refuses_what_its_bounds_exclude(column: Column, value: int | str | None, is_refused: bool) -> None:
    assert column.refuses(value) is is_refused

"""Every kind of derived column is read from definitions and made by every engine, and all of them give the same."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from app.codecs.avro.column_arrays import ColumnArrays, Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.program import plain_schema
from app.codecs.avro.schema import WriterSchema
from app.definitions.derived import READERS
from app.domain.column import DERIVED, Addition, Coalesce, Column, Derived, Difference, Equals, Kind
from app.engine.core.records import derived as worker
from spark_batch.source import derived as spark_batch

COLUMNS = (
    Column("a", Kind.INTEGER, True),
    Column("b", Kind.INTEGER, True),
    Column("kind", Kind.TEXT, True),
    Column("shared", Kind.FLAG, True),
)
TEXTS = ("START", "", "STARTS", "twelve bytes", "twelve bytes and more", "ümläut", "START\0")
INTO = Column("made", Kind.INTEGER, True)
MADE: tuple[Derived, ...] = (
    Difference(INTO, "a", "b"),
    Coalesce(INTO, ("a", "b")),
    Addition(INTO, ("a", "b", "a")),
    Equals(INTO, "a", 3),
    Equals(INTO, "shared", True),
    *(Equals(INTO, "kind", text) for text in ("START", "", "twelve bytes", "ümläut")),
)
ROW = st.tuples(
    *[st.none() | st.integers(-9, 9)] * 2,
    st.none() | st.sampled_from(TEXTS) | st.text(max_size=14),
    st.none() | st.booleans(),
)
EVERY_ROW = [
    (a, b, kind, flag)
    for a in (None, 3, -5)
    for b in (None, 3)
    for kind in (None, *TEXTS)
    for flag in (None, True, False)
]


def test_every_kind_is_read_from_definitions_and_made_by_both_engines() -> None:
    assert {type(one) for one in MADE} == set(DERIVED.values())
    assert set(READERS) == set(worker.MAKERS) == set(spark_batch.MAKERS) == set(DERIVED.values())


@given(st.lists(ROW, min_size=1, max_size=8))
def test_the_worker_makes_columns_as_the_domain_says(rows: list[tuple[Any, ...]]) -> None:
    arrays = decoded(rows)
    for one in MADE:
        cells = worker.made(one, arrays)
        values = [
            value if there else None for value, there in zip(cells.values[0].tolist(), cells.present, strict=True)
        ]
        assert values == said(one, rows), one


@pytest.mark.spark
def test_spark_makes_columns_as_the_domain_says(spark: SparkSession) -> None:
    names = [column.name for column in COLUMNS]
    frame = spark.createDataFrame(EVERY_ROW, "a bigint, b bigint, kind string, shared boolean").coalesce(1)
    made = frame.select(*names, *(spark_batch.made(one).alias(f"made_{at}") for at, one in enumerate(MADE))).collect()
    rows = [tuple(row[: len(names)]) for row in made]
    for at, one in enumerate(MADE):
        assert [row[f"made_{at}"] for row in made] == said(one, rows), one


def said(one: Derived, rows: Sequence[tuple[Any, ...]]) -> list[Any]:
    """By the domain."""
    return [one.value(dict(zip((column.name for column in COLUMNS), row, strict=True))) for row in rows]


def decoded(rows: Sequence[tuple[Any, ...]]) -> ColumnArrays:
    """As the worker reads them."""
    schema = WriterSchema(7, json.dumps(plain_schema(COLUMNS)))
    values = []
    for row in rows:
        out = io.BytesIO()
        out.write(schema.header)
        fastavro.schemaless_writer(out, schema.parsed, dict(zip((c.name for c in COLUMNS), row, strict=True)))
        values.append(out.getvalue())
    return BlockDecoder(Layout(COLUMNS)).decode(Packed(values), {7: schema}).columns

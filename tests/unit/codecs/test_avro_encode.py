"""Encoding by block against fastavro, byte for byte."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.avro.encode import encode_frame
from app.rides.generator.generator import Generator
from app.rides.ride import avro_schema

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "Sample",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "count", "type": "long"},
        {"name": "sure", "type": "boolean"},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "number", "type": ["null", "long"], "default": None},
        {"name": "flag", "type": ["null", "boolean"], "default": None},
    ],
}
DTYPES = dict(
    zip(("id", "count", "sure", "text", "number", "flag"), (pl.String, pl.Int64, pl.Boolean) * 2, strict=True)
)
LONGS = st.integers(-(2**63), 2**63 - 1)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text(),
            "count": LONGS,
            "sure": st.booleans(),
            "text": st.none() | st.text(),
            "number": st.none() | LONGS,
            "flag": st.none() | st.booleans(),
        }
    ),
    max_size=20,
)


def by_fastavro(rows: list[dict[str, Any]], schema: dict[str, Any], schema_id: int) -> list[bytes]:
    parsed, values = fastavro.parse_schema(schema), []
    for row in rows:
        value = io.BytesIO()
        fastavro.schemaless_writer(value, parsed, row)
        values.append(b"\x00" + schema_id.to_bytes(4, "big") + value.getvalue())
    return values


@given(ROWS, st.integers(0, 2**32 - 1))
def test_every_value_is_what_fastavro_writes_behind_the_framing(rows: list[dict[str, Any]], schema_id: int) -> None:
    assert encode_frame(pl.DataFrame(rows, DTYPES), SCHEMA, schema_id) == by_fastavro(rows, SCHEMA, schema_id)


def test_generated_rides_are_encoded_as_fastavro_would() -> None:
    rides = Generator(seed=3).rides(0, 2_000)
    assert encode_frame(rides, avro_schema(), 7) == by_fastavro(rides.to_dicts(), avro_schema(), 7)


def test_a_slice_of_a_frame_in_several_chunks_is_encoded_as_one() -> None:
    generator = Generator(seed=3)
    chunks = pl.concat([generator.rides(0, 10), generator.rides(10, 10)], rechunk=False)
    assert encode_frame(chunks[7:15], avro_schema(), 7) == encode_frame(generator.rides(7, 8), avro_schema(), 7)


def test_no_rows_are_no_values() -> None:
    assert encode_frame(pl.DataFrame(schema=DTYPES), SCHEMA, 1) == []


def test_a_missing_column_is_named() -> None:
    with pytest.raises(ValueError, match=r"Sample.flag: the frame has no such column"):
        encode_frame(pl.DataFrame(schema=DTYPES).drop("flag"), SCHEMA, 1)


def test_a_null_where_none_may_be_is_named() -> None:
    frame = pl.DataFrame([{"id": None, "count": 1, "sure": True}], DTYPES)
    with pytest.raises(ValueError, match=r"Sample.id: 1 rows are null"):
        encode_frame(frame, SCHEMA, 1)


def test_a_type_that_is_not_encoded_is_named() -> None:
    schema = {**SCHEMA, "fields": [{"name": "id", "type": "bytes"}]}
    with pytest.raises(ValueError, match=r"Sample.id: cannot encode bytes"):
        encode_frame(pl.DataFrame(schema=DTYPES), schema, 1)

"""Frames to Avro values in the Confluent framing, a block at a time.

Byte for byte what fastavro's `schemaless_writer` gives for the same row behind the five framing bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyruhvro

from app.codecs.avro.column_types import AVRO
from app.codecs.avro.schema import framing
from app.codecs.column_types import HELD
from app.domain.column import Kind

_ARROW_TYPES: dict[str, pa.DataType] = {AVRO[kind].written: HELD[kind].arrow for kind in Kind}


def encode_frame(frame: pl.DataFrame, schema: Mapping[str, Any], schema_id: int) -> list[bytes]:
    """One framed value per row of `frame`, in order, ready to be produced.

    `schema` is an Avro record of longs, strings and booleans, each plain or `["null", type]`; each field is
    a column of the frame, which may have others beside. Raises ValueError where a field has no column, has a
    type not listed, or is null though its field may not be.
    """
    chunks = pyruhvro.serialize_record_batch(_record_batch(frame, schema), json.dumps(schema), 1)
    prefix: Any = pa.scalar(framing(schema_id), pa.binary())
    bodies: Any = pa.concat_arrays(chunks)
    values: Any = pc.binary_join_element_wise(prefix, bodies, pa.scalar(b"", pa.binary()))
    return cast(list[bytes], values.to_pylist())


def _plain_type(avro_type: Any) -> str | None:
    """The type behind `type` or `["null", type]`, if it is one of ours."""
    branches = avro_type if isinstance(avro_type, list) else ["null", avro_type]
    if len(branches) != 2 or branches[0] != "null" or not isinstance(branches[1], str):
        return None
    return branches[1] if branches[1] in _ARROW_TYPES else None


def _record_batch(frame: pl.DataFrame, schema: Mapping[str, Any]) -> pa.RecordBatch:
    fields = [_arrow_field(frame, schema["name"], field) for field in schema["fields"]]
    table = frame.select(field.name for field in fields).to_arrow().cast(pa.schema(fields))
    return (
        table.combine_chunks().to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], pa.schema(fields))
    )


def _arrow_field(frame: pl.DataFrame, record: str, field: Mapping[str, Any]) -> pa.Field[pa.DataType]:
    name, avro_type = field["name"], field["type"]
    plain, nullable = _plain_type(avro_type), isinstance(avro_type, list)
    if plain is None:
        raise ValueError(f"{record}.{name}: cannot encode {avro_type}, only {', '.join(_ARROW_TYPES)} or [null, one]")
    if name not in frame.columns:
        raise ValueError(f"{record}.{name}: the frame has no such column; it has {', '.join(frame.columns)}")
    if not nullable and (nulls := frame[name].null_count()):
        raise ValueError(f"{record}.{name}: {nulls} rows are null, and the field may not be")
    return pa.field(name, _ARROW_TYPES[plain], nullable=nullable)

"""Confluent-framed Avro values to columns: by block where all is well, record by record where not.

Fast path: many records of one schema become one Avro block that Polars reads at once. Polars trusts the
block's framing, so each record is followed by a sentinel (a double `i + 0.5`) and keeps its 5-byte
header as a field: after the read every sentinel and header must be in its place, or one record was
shorter, longer or emptier than its schema says, and rows behind it would be garbage. Polars also reads what no
Avro writer writes (a union's branch 5, a flag of 2), so the rows are encoded again and must give the very bytes they
were read from. Else (and where Polars fails or panics) each record is decoded on its own by the strict decoder,
which is the rule, and names what is wrong. So what becomes of a record never depends on its neighbours.
"""

from __future__ import annotations

import io
import json
import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import fastavro
import numpy as np
import polars as pl
import pyarrow as pa

from app.codecs.avro_encode import encode_bodies, is_plain
from app.domain.records import Reason, Value
from app.domain.source import Column, Kind

HEADER_BYTES = 5
_SYNC = b"flagfall-block-s"
_SENTINEL = "__sentinel"
_HEADER = "__header"
_DTYPES = {Kind.TEXT: pl.String(), Kind.FLAG: pl.Boolean()}

polars_panic: type[BaseException] = pl.exceptions.PanicException


@dataclass(frozen=True)
class WriterSchema:
    """A schema as the registry holds it, under its id."""

    id: int
    text: str

    @cached_property
    def record(self) -> Any:
        """The schema as JSON, without logical types: an instant is the number that was written."""
        return _without_logical_types(json.loads(self.text))

    @cached_property
    def parsed(self) -> Any:
        """For fastavro."""
        return fastavro.parse_schema(self.record)

    @cached_property
    def is_plain(self) -> bool:
        """Whether its records can be read by block; others are decoded one by one."""
        return is_plain(self.record)

    @cached_property
    def header(self) -> bytes:
        """What every value of this schema begins with."""
        return struct.pack(">BI", 0, self.id)

    @cached_property
    def container_head(self) -> bytes:
        """Head of an Avro container file for blocks of framed records."""
        framed = {
            "type": "record",
            "name": "Framed",
            "fields": [
                {"name": _HEADER, "type": {"type": "fixed", "name": "Header", "size": HEADER_BYTES}},
                *self.record["fields"],
                {"name": _SENTINEL, "type": "double"},
            ],
        }
        schema = json.dumps(framed).encode()
        entries = (b"avro.schema", schema, b"avro.codec", b"null")
        return b"Obj\x01" + _long(2) + b"".join(_long(len(e)) + e for e in entries) + _long(0) + _SYNC


Schemas = Mapping[int, WriterSchema | None]
"""Schemas by id; None where the registry says for certain that there is no such id."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a value could not be decoded."""

    reason: Reason


@dataclass
class Decoded:
    """`frame` holds the columns asked for, one row per decoded value; `kept` are those values' indices."""

    frame: pl.DataFrame
    kept: np.ndarray[Any, np.dtype[np.intp]]
    refused: list[tuple[int, Reason]] = field(default_factory=list)


def schema_ids(values: Sequence[bytes | None]) -> set[int]:
    """Every schema id that the values name; malformed headers name none."""
    headers = {value[:HEADER_BYTES] for value in values if value is not None}
    return {struct.unpack(">I", h[1:])[0] for h in headers if len(h) == HEADER_BYTES and h[0] == 0}


def decode_block(values: Sequence[bytes | None], schemas: Schemas, columns: Sequence[Column]) -> Decoded:
    """Values to columns. `schemas` must have an entry for every id in `schema_ids(values)`.

    A column that a writer's schema lacks is null.
    """
    refused: list[tuple[int, Reason]] = []
    by_schema: dict[int, list[int]] = defaultdict(list)
    only = _only_schema(values, schemas)
    if only is not None:
        by_schema[only.id] = list(range(len(values)))
    else:
        _sort_by_header(values, schemas, by_schema, refused)
    frames, kept = [_empty(columns)], [np.empty(0, np.intp)]
    for schema_id, at in by_schema.items():
        schema = schemas[schema_id]
        assert schema is not None  # unknown ones were refused above
        chosen = list(values) if len(at) == len(values) else [values[i] for i in at]
        frame, good = _decode_one_schema(chosen, at, schema, columns, refused)
        frames.append(frame)
        kept.append(good)
    order = np.argsort(indices := np.concatenate(kept), kind="stable")
    frame = pl.concat(frames)
    if len(by_schema) > 1:
        frame = frame[order]
    return Decoded(frame, indices[order], sorted(refused))


def decode_strict(value: bytes | None, schemas: Schemas) -> dict[str, Value] | Refusal:
    """One value, decoded on its own; every byte must be accounted for."""
    header = _read_header(value, schemas)
    if isinstance(header, Refusal):
        return header
    assert value is not None  # or the header had been refused
    body = io.BytesIO(value)
    body.seek(HEADER_BYTES)
    try:
        decoded = fastavro.schemaless_reader(body, header.parsed, None)
    except (EOFError, IndexError, ValueError, OverflowError, UnicodeDecodeError, TypeError, MemoryError):
        return Refusal(Reason.UNDECODABLE)  # every error fastavro was seen to raise on damaged bytes
    if body.tell() != len(value):
        return Refusal(Reason.TRAILING_BYTES)
    return dict(decoded)  # type: ignore[arg-type]


def _read_header(value: bytes | None, schemas: Schemas) -> WriterSchema | Refusal:
    if value is None:
        return Refusal(Reason.NULL_VALUE)
    if len(value) <= HEADER_BYTES:
        return Refusal(Reason.TOO_SHORT)
    magic, schema_id = struct.unpack_from(">BI", value)
    if magic != 0:
        return Refusal(Reason.BAD_MAGIC)
    schema = schemas[schema_id]
    return Refusal(Reason.UNKNOWN_SCHEMA) if schema is None else schema


def _only_schema(values: Sequence[bytes | None], schemas: Schemas) -> WriterSchema | None:
    """The schema of all values, if they name just one and none is odd: the usual case, told cheaply."""
    try:
        headers = {value[:HEADER_BYTES] for value in values}  # type: ignore[index]
    except TypeError:
        return None
    if len(headers) != 1:
        return None
    (header,) = headers
    if len(header) < HEADER_BYTES or header[0] != 0:
        return None
    return schemas[struct.unpack_from(">I", header, 1)[0]]


def _sort_by_header(
    values: Sequence[bytes | None],
    schemas: Schemas,
    by_schema: dict[int, list[int]],
    refused: list[tuple[int, Reason]],
) -> None:
    for i, value in enumerate(values):
        header = _read_header(value, schemas)
        if isinstance(header, Refusal):
            refused.append((i, header.reason))
        else:
            by_schema[header.id].append(i)


def _decode_one_schema(
    values: Sequence[bytes | None],
    at: Sequence[int],
    schema: WriterSchema,
    columns: Sequence[Column],
    refused: list[tuple[int, Reason]],
) -> tuple[pl.DataFrame, np.ndarray[Any, np.dtype[np.intp]]]:
    frame = _read_framed(values, schema) if schema.is_plain else None
    if frame is not None:
        return _shaped(frame, columns), np.asarray(at, np.intp)
    rows, good = [], []
    for i, value in zip(at, values, strict=True):
        decoded = decode_strict(value, {schema.id: schema})
        if isinstance(decoded, Refusal):
            refused.append((i, decoded.reason))
        else:
            rows.append({c.name: decoded.get(c.name) for c in columns})
            good.append(i)
    frame = pl.DataFrame(rows, schema=_polars_schema(columns), strict=True)
    return frame, np.asarray(good, np.intp)


def _read_framed(values: Sequence[bytes | None], schema: WriterSchema) -> pl.DataFrame | None:
    """The block read by Polars, or None if a sentinel, a header, the height or a byte is not as it must be."""
    count = len(values)
    pieces: list[Any] = [None] * (2 * count)
    pieces[0::2] = values
    pieces[1::2] = _sentinels(count)
    body = b"".join(pieces)
    block = b"".join((schema.container_head, _long(count), _long(len(body)), body, _SYNC))
    try:
        frame = pl.read_avro(io.BytesIO(block))
    except (pl.exceptions.PolarsError, OSError, ValueError, polars_panic):
        return None
    if frame.height != count:
        return None
    in_place = np.array_equal(frame[_SENTINEL].to_numpy(), np.arange(count) + 0.5)
    headers_in_place = frame.select((pl.col(_HEADER) == pl.lit(schema.header)).all()).item()
    return frame if in_place and headers_in_place and _is_what_stands_there(frame, values, schema) else None


def _is_what_stands_there(frame: pl.DataFrame, values: Sequence[bytes | None], schema: WriterSchema) -> bool:
    """Whether the rows, encoded again, are the bytes that they were read from."""
    bodies = pa.array([value[HEADER_BYTES:] for value in values if value is not None], pa.binary())
    return encode_bodies(frame, schema.record).equals(bodies)


def _shaped(frame: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame:
    have = frame.schema
    return frame.select(
        pl.col(c.name).cast(_dtype(c)) if c.name in have else pl.lit(None, _dtype(c)).alias(c.name) for c in columns
    )


def _empty(columns: Sequence[Column]) -> pl.DataFrame:
    return pl.DataFrame(schema=_polars_schema(columns))


def _polars_schema(columns: Sequence[Column]) -> dict[str, pl.DataType]:
    return {c.name: _dtype(c) for c in columns}


def _dtype(column: Column) -> pl.DataType:
    return _DTYPES.get(column.kind, pl.Int64())


@lru_cache(maxsize=1)
def _sentinel_pool(count: int) -> list[bytes]:
    raw = (np.arange(count) + 0.5).astype("<f8").tobytes()
    return [raw[at : at + 8] for at in range(0, len(raw), 8)]


def _sentinels(count: int) -> list[bytes]:
    size = 1 << max(14, (count - 1).bit_length())
    return _sentinel_pool(size)[:count]


def _without_logical_types(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _without_logical_types(part) for name, part in schema.items() if name != "logicalType"}
    return schema


def _long(number: int) -> bytes:
    """Avro's zig-zag varint of a non-negative number."""
    rest, out = number << 1, bytearray()
    while rest >= 0x80:
        out.append((rest & 0x7F) | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)

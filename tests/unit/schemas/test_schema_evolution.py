"""Which schemas can be read under which, by Avro's rules, and what stands between them in words."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.avro.evolution import obstacles
from app.rides.ride import avro_schema
from tests.support.material.schemas.versions import RIDE_VERSIONS


def record(*fields: dict[str, Any], name: str = "R", **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def field(avro_type: Any, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": avro_type, **more}


def enum(*symbols: str, **more: Any) -> dict[str, Any]:
    return {"type": "enum", "name": "E", "symbols": list(symbols), **more}


CHAIN = record(field(["null", "R"]))


@pytest.mark.parametrize(
    ("reader", "writer"),
    [
        (record(field("long")), record(field("int"))),
        (record(field("double")), record(field("long"))),
        (record(field("bytes")), record(field("string"))),
        (record(field(["null", "long"])), record(field("int"))),
        (record(field(["null", "long"])), record(field(["int", "null"]))),
        (record(field("long", "b", aliases=["a"])), record(field("long"))),
        (record(field("long", "b", default=1)), record(field("long"))),
        (record(), record(field("long"))),
        (record(field("long"), name="S", aliases=["R"]), record(field("long"))),
        (record(field("long"), name="x.S", aliases=["R"]), record(field("long"), name="x.R")),
        (record(field(enum("A", "B"))), record(field(enum("A")))),
        (record(field(enum("A", default="A"))), record(field(enum("A", "B")))),
        (record(field({"type": "array", "items": "long"})), record(field({"type": "array", "items": "int"}))),
        (record(field({"type": "map", "values": "long"})), record(field({"type": "map", "values": "int"}))),
        (CHAIN, CHAIN),
        *((old, new) for old in RIDE_VERSIONS for new in RIDE_VERSIONS),
    ],
)
def test_what_avro_resolves_has_no_obstacle(reader: Any, writer: Any) -> None:
    assert obstacles(reader, writer) == []


@pytest.mark.parametrize(
    ("reader", "writer", "told"),
    [
        (record(field("int")), record(field("long")), "a: long cannot be read as int"),
        (record(field("long")), record(field(["null", "long"])), "a: null cannot be read as long"),
        (record(field(["null", "int"])), record(field("string")), "a: string is none of null or int"),
        (record(field("long", "b")), record(field("long")), "b: it is not written, and has no default"),
        (record(name="S"), record(), "the record R is not S, nor an alias of it"),
        (
            record(field(enum("A"))),
            record(field(enum("A", "B", "C"))),
            "a: symbols B, C are unknown, and there is no default for them",
        ),
        (
            record(field({"type": "fixed", "name": "F", "size": 2})),
            record(field({"type": "fixed", "name": "F", "size": 3})),
            "a: 3 bytes are not 2",
        ),
        (
            record(field(record(field("int"), name="I"))),
            record(field(record(field("string"), name="I"))),
            "a.a: string cannot be read as int",
        ),
        (
            record(field({"type": "array", "items": "int"})),
            record(field({"type": "array", "items": "string"})),
            "a[]: string cannot be read as int",
        ),
        (record(field("long")), "long", "long cannot be read as record R"),
    ],
)
def test_what_avro_does_not_resolve_is_told_with_its_place(reader: Any, writer: Any, told: str) -> None:
    assert obstacles(reader, writer) == [told]


def test_every_obstacle_is_told() -> None:
    other = avro_schema() | {"fields": [field("long", "x"), field("string", "pickup_at_us")]}
    assert obstacles(other, avro_schema()) == [
        "x: it is not written, and has no default",
        "pickup_at_us: long cannot be read as string",
    ]


PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
types = st.one_of(
    st.sampled_from(PRIMITIVES),
    st.lists(st.sampled_from(PRIMITIVES), min_size=1, max_size=3, unique=True),
    st.sampled_from(PRIMITIVES).map(lambda kind: {"type": "array", "items": kind}),
)
VALUES: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "int": 7,
    "long": 7,
    "float": 0.5,
    "double": 0.5,
    "bytes": b"x",
    "string": "x",
}


def values_of(avro_type: Any) -> list[Any]:
    """One value of each branch, told apart where fastavro would guess."""
    if isinstance(avro_type, list):
        return [(branch, VALUES[branch]) for branch in avro_type]
    return [[VALUES[avro_type["items"]]]] if isinstance(avro_type, dict) else [VALUES[avro_type]]


@given(types, types)
def test_where_no_obstacle_is_told_another_library_reads_every_value(reader: Any, writer: Any) -> None:
    ours, theirs = record(field(reader)), record(field(writer))
    if obstacles(ours, theirs):
        return
    for value in values_of(writer):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, theirs, {"a": value})
        out.seek(0)
        fastavro.schemaless_reader(out, theirs, ours)

"""Which schemas can be read as a source's record: for each whether it can, and never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.codecs.avro.admission import MAX_PARTS, is_readable
from app.codecs.avro.record_schema import record_schema
from app.codecs.avro.schema import WriterSchema
from app.rides.ride import RIDES
from tests.support.material.schemas.ride import OWN, with_type, without


def readable(schema: Any, kind: str = "AVRO") -> bool:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    return is_readable(WriterSchema(1, text, kind), RIDES.columns)


def further(avro_type: Any) -> dict[str, Any]:
    """Our schema with one field more, which no column reads."""
    return {**OWN, "fields": [*OWN["fields"], {"name": "further", "type": avro_type}]}


def named(name: str, *types: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": f"f{i}", "type": t} for i, t in enumerate(types)]}


@pytest.mark.parametrize(
    "schema",
    [
        record_schema(RIDES),
        without("total_cents"),
        with_type("fare_cents", "int"),
        with_type("vendor", ["null", "bytes"]),
        with_type("vendor", ["null", "string", "long"]),
        with_type("tip_cents", "null"),
        with_type("ride_id", ["null", "string"]),
        with_type("pickup_at_us", {"type": "long", "logicalType": "timestamp-micros"}),
        further({"type": "array", "items": "double"}),
        further({"type": "map", "values": "null"}),
        further(named("Deep", named("Deeper", {"type": "fixed", "name": "F", "size": 3}))),
        further({"type": "array", "items": ["null", "string"]}),
    ],
)
def test_other_words_for_the_same_record_are_read(schema: Any) -> None:
    assert readable(schema)


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "no JSON",
        "[" * 100_000,
        '"string"',
        '"long"',
        "null",
        "{}",
        {"type": "record"},
        {"type": "record", "name": "Ride", "fields": 3},
        {"type": "enum", "name": "Ride", "symbols": ["A"]},
        ["null", OWN],
        without("pickup_at_us"),
        with_type("pickup_at_us", "string"),
        with_type("pickup_at_us", {"type": "long", "logicalType": "timestamp-millis"}),
        with_type("pickup_at_us", "null"),
        with_type("total_cents", "bytes"),
        with_type("total_cents", "double"),
        with_type("total_cents", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
        with_type("vendor", {"type": "enum", "name": "Vendor", "symbols": ["CMT", "VTS"]}),
        {**OWN, "fields": [*OWN["fields"], OWN["fields"][0]]},
        further("Unheard"),
        further({"type": "record", "name": "Chain", "fields": [{"name": "next", "type": ["null", "Chain"]}]}),
        further({"type": "array", "items": "null"}),
        further({"type": "array", "items": named("Nothing", "null", named("Less"))}),
        further({"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}}),
        {**OWN, "doc": "x" * 1_000_001},
    ],
)
def test_what_is_none_or_another_record_or_has_no_end_is_not(schema: Any) -> None:
    assert readable(schema) is False


def test_a_schema_of_another_kind_is_not_read_though_it_looks_like_ours() -> None:
    assert readable(OWN)
    assert not readable(OWN, "JSON")


def test_how_deep_a_schema_may_be_does_not_depend_on_where_it_is_asked() -> None:
    """Python's own bound is on calls in calls: the worker, Spark's program and a test stand differently deep."""

    def nested(depth: int) -> Any:
        avro_type: Any = "int"
        for level in range(depth):
            avro_type = named(f"L{level}", avro_type)
        return avro_type

    def asked(depth: int, schema: Any) -> bool:
        return readable(schema) if depth == 0 else asked(depth - 1, schema)

    for depth in (0, 300):
        assert asked(depth, further(nested(65)))
        assert not asked(depth, further(nested(66)))


def test_types_that_double_at_each_name_are_counted_and_not_followed() -> None:
    """Forty names hold a million million fields of no bytes: a value of one byte would be read for years."""
    doubling: Any = "null"
    for level in range(40):
        doubling = named(f"L{level}", doubling, f"L{level - 1}" if level else "null")
    assert not readable(further(doubling))
    assert not readable(further(named("Wide", *["null"] * MAX_PARTS)))
    assert readable(further(named("Narrow", *["null"] * 1_000)))

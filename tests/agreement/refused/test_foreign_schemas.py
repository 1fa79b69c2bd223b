"""What writers of other schemas send has one fate: in the worker's blocks, in Spark, decoded one by one."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from app.codecs.avro.column_arrays import Layout
from app.codecs.avro.decode import BlockDecoder, Packed
from app.codecs.avro.schema import WriterSchema
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.records import Reason, Record, Value
from app.domain.rules.admission import refusal
from app.domain.source import with_derived
from app.rides.ride import RIDES, avro_schema
from spark_batch.source import decode_avro
from spark_batch.source.decode_avro import MOST_LAYOUTS, layouts
from spark_batch.source.read_source import kept_columns, read_source
from tests.support.material.histories import START_US, TOPIC_NAMES, Log, random_ride
from tests.support.material.schemas.foreign import FOREIGN, encode_as, with_type
from tests.support.material.schemas.versions import RIDE_VERSIONS
from tests.support.material.views import ALL_VIEWS
from tests.support.spark_logs import as_kafka

LIST_OF_NUMBERS = {"name": "more", "type": {"type": "array", "items": "double"}}
ONE_BRANCH = {
    **avro_schema(),
    "fields": [
        {"name": field["name"], "type": [field["type"]] if isinstance(field["type"], str) else field["type"]}
        for field in avro_schema()["fields"]
    ],
}
"""Unions that leave no choice: nothing in them may be null."""
OTHER_RECORDS = (
    *RIDE_VERSIONS[:-1],
    with_type("fare_cents", ["null", "int"]),
    with_type("vendor", ["null", "bytes"]),
    with_type("vendor", ["null", "string", "long"]),
    with_type("tip_cents", "null"),
    with_type("total_cents", ["null", "bytes"]),
    with_type("ride_id", ["null", "string"]),
    with_type("pickup_zone", ["string", "long", "null"]),
    with_type("ride_id", ["string"]),
    ONE_BRANCH,
    with_type("pickup_at_us", {"type": "long", "logicalType": "timestamp-micros"}),
    with_type("pickup_at_us", {"type": "long", "logicalType": "timestamp-millis"}),
    with_type("vendor", {"type": "enum", "name": "Vendor", "symbols": ["CMT", "VTS"]}),
    {**avro_schema(), "fields": [*avro_schema()["fields"], {"name": "Vendor", "type": "string"}]},
    {**avro_schema(), "fields": avro_schema()["fields"][::-1]},
    {
        **avro_schema(),
        "fields": [{"name": "more", "type": {"type": "array", "items": "double"}}, *RIDE_VERSIONS[0]["fields"]],
    },
)
"""Beside those of FOREIGN; of some of them every value can be read, of some a few, of some none."""
DECLARED = [*OTHER_RECORDS, *(json.loads(s.schema_str) for s in FOREIGN.values() if s.schema_type == "AVRO")]
SCHEMAS = {number: WriterSchema(number, json.dumps(declared)) for number, declared in enumerate(DECLARED, start=1)}
PROTOBUF = WriterSchema(99, FOREIGN["protobuf"].schema_str or "", "PROTOBUF")
VALUES_OF_EACH = 40


def test_values_of_other_writers_fare_alike_everywhere(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(17)
    values = [_value(rng, number, schema) for schema in SCHEMAS.values() for number in range(VALUES_OF_EACH)]
    values += [
        broken for value in values[: len(SCHEMAS) * VALUES_OF_EACH : VALUES_OF_EACH] for broken in _broken(value)
    ]
    values += [b"\0\0\0\0\x63" + values[0][5:]]
    rng.shuffle(values)
    schemas = {**SCHEMAS, PROTOBUF.id: PROTOBUF}
    log = Log(TOPIC_NAMES[0], 0, entries=[(offset, START_US // 1000, value) for offset, value in enumerate(values)])

    strict = StrictDecoder(RIDES.columns)
    alone = [strict.decode(value, schemas) for value in values]
    block = BlockDecoder(Layout(RIDES.columns)).decode(Packed(values), schemas)
    assert block.refused == [(at, told.reason) for at, told in enumerate(alone) if isinstance(told, Unreadable)]
    assert block.frame.to_dicts() == [told for told in alone if not isinstance(told, Unreadable)]

    read = read_source(as_kafka(spark, [log]), RIDES, schemas, tmp_path)
    kept = kept_columns(RIDES, ALL_VIEWS)
    found = {row["offset"]: row for row in read.collect()}
    for offset, told in enumerate(alone):
        reason, expected = _judged(offset, told)
        assert (offset, found[offset]["reason"]) == (offset, reason)
        if reason is None:
            assert {name: found[offset][name] for name in kept} == {name: expected[name] for name in kept}
    reasons = {row["reason"] for row in found.values()}
    assert reasons >= {None, Reason.INCOMPATIBLE_SCHEMA, Reason.UNDECODABLE}


def test_schemas_of_the_same_fields_take_spark_no_longer_than_one() -> None:
    """Each layout is a second of planning, and a producer may register a schema with each of its releases."""
    alike = [
        WriterSchema(number, json.dumps({**avro_schema(), "doc": f"release {number}"})) for number in range(1, 301)
    ]
    assert [[schema.id for schema in layout] for layout in layouts(alike[::-1], RIDES.columns)] == [[*range(1, 301)]]


def test_spark_leaves_the_layouts_behind_the_first_ones_to_the_strict_decoder() -> None:
    many = [WriterSchema(number, json.dumps(_longer(number))) for number in range(1, MOST_LAYOUTS + 10)]
    assert [layout[0].id for layout in layouts(many, RIDES.columns)] == [*range(1, MOST_LAYOUTS + 1)]


def test_layouts_fare_alike_whoever_reads_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode_avro, "MOST_LAYOUTS", 2)
    declared = [_longer(length) for length in (0, 1, 2, 3)] + [{**_longer(length), "doc": "again"} for length in (3, 0)]
    schemas = {number: WriterSchema(number, json.dumps(one)) for number, one in enumerate(declared, start=1)}
    rng = random.Random(19)
    values = [_value(rng, at, schema) for at in range(VALUES_OF_EACH) for schema in schemas.values()]
    values += [value[:5] + values[0][5:] for value in values[: len(schemas)]]  # behind other headers
    strict = [StrictDecoder(RIDES.columns).decode(value, schemas) for value in values]

    log = Log(TOPIC_NAMES[0], 0, entries=[(offset, START_US // 1000, value) for offset, value in enumerate(values)])
    read = read_source(as_kafka(spark, [log]), RIDES, schemas, tmp_path)
    rows = read.collect()
    found = {row["offset"]: (row["reason"], None if row["reason"] else row["ride_id"]) for row in rows}
    assert found == {offset: _reason_and_id(offset, told) for offset, told in enumerate(strict)}


@pytest.mark.parametrize("worker", range(len(RIDE_VERSIONS)))
def test_workers_of_each_version_read_producers_of_every_version(worker: int) -> None:
    """Whoever is upgraded first: new columns are null in old records, and old workers pass over new fields."""
    names = {field["name"] for field in RIDE_VERSIONS[worker]["fields"]}
    columns = [column for column in RIDES.columns if column.name in names]
    schemas = {number: WriterSchema(number, json.dumps(one)) for number, one in enumerate(RIDE_VERSIONS, start=1)}
    rng = random.Random(18)
    producers = [(number, random_ride(rng, at, START_US)) for at in range(VALUES_OF_EACH) for number in schemas]
    values = [encode_as(number, schemas[number].declared, ride) for number, ride in producers]

    block = BlockDecoder(Layout(columns)).decode(Packed(values), schemas)
    assert block.refused == []
    assert block.frame.to_dicts() == [
        {name: ride[name] if name in written else None for name in block.frame.columns}
        for number, ride in producers
        for written in [{field["name"] for field in schemas[number].declared["fields"]}]
    ]


def _judged(offset: int, told: dict[str, Value] | Unreadable) -> tuple[str | None, dict[str, Value]]:
    if isinstance(told, Unreadable):
        return told.reason, {}
    values = with_derived(RIDES, told)
    return refusal(RIDES, Record(TOPIC_NAMES[0], 0, offset, START_US // 1000, told), values), values


def _reason_and_id(offset: int, told: dict[str, Value] | Unreadable) -> tuple[str | None, Value]:
    reason, values = _judged(offset, told)
    return reason, None if reason else values["ride_id"]


def _longer(fields: int) -> dict[str, Any]:
    """Our schema with so many fields more, which nobody reads."""
    more = [{"name": f"more_{at}", "type": ["null", "long"]} for at in range(fields)]
    return {**avro_schema(), "fields": [*avro_schema()["fields"], *more]}


def _value(rng: random.Random, number: int, schema: WriterSchema) -> bytes:
    declared, ride = schema.declared, random_ride(rng, number, START_US)
    if not isinstance(declared, dict):
        return b"\0" + schema.id.to_bytes(4, "big") + rng.randbytes(12)
    own = {field["name"]: field["type"] for field in avro_schema()["fields"]}
    written = {
        field["name"]: ride[field["name"]] if own.get(field["name"]) == field["type"] else _made(rng, field["type"])
        for field in declared["fields"]
    }
    return encode_as(schema.id, declared, written)


def _broken(value: bytes) -> list[bytes]:
    """What stands behind the schema's id is zeros, cut off, one more, or branches and lengths that cannot be."""
    return [
        value[:5] + b"\0" * 100,
        value[:-1],
        value[: 5 + len(value[5:]) // 2],
        value + b"\0",
        value[:5] + b"\xff" * 9,
    ]


def _made(rng: random.Random, avro_type: Any) -> Any:
    """Some value of a type."""
    if isinstance(avro_type, list):
        return _made(rng, rng.choice(avro_type))
    match avro_type if isinstance(avro_type, str) else avro_type["type"]:
        case "null":
            return None
        case "string":
            return rng.choice(("", "CMT", "Zürich"))
        case "bytes":
            return rng.choice((b"", b"CMT", b"\xff\xfe"))
        case "int" | "long":
            return rng.choice((0, 1, 264, 1_000))
        case "enum":
            return rng.choice(avro_type["symbols"])
        case "array":
            return [rng.random() for _ in range(rng.randrange(3))]
        case other:
            raise pytest.UsageError(f"no values are made of {other}")

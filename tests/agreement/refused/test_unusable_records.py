"""Each kind of record that a topic may hold though nobody should send it: one fate, told beforehand, everywhere."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from app.codecs.avro.schema import Schemas, WriterSchema
from app.domain.records import Place, Value
from app.rides.ride import RIDES, avro_schema
from spark_batch.source.read_source import read_source
from tests.fuzz.records import Sent, naive, told_by_worker
from tests.support.material.histories import START_US, TOPIC_NAMES, Log, random_ride
from tests.support.material.schemas.foreign import encode_as, with_type
from tests.support.spark_logs import as_kafka

USED = "used"
SECOND_US, DAY_US, YEAR_US = 1_000_000, 86_400_000_000, 365 * 86_400_000_000
LENGTHS = {"2^60": 1 << 60, "2 GiB": (1 << 31) - 9, "1 GiB": 1 << 30, "below zero": -2}


class Kind(NamedTuple):
    """A record, and its reason or `used`."""

    sent: Sent
    fate: str


def further(avro_type: Any) -> dict[str, Any]:
    """Our schema with a field behind the others, which nobody reads."""
    return {**avro_schema(), "fields": [*avro_schema()["fields"], {"name": "further", "type": avro_type}]}


def nested(depth: int) -> Any:
    avro_type: Any = "int"
    for level in range(depth):
        avro_type = {"type": "record", "name": f"L{level}", "fields": [{"name": "f", "type": avro_type}]}
    return avro_type


def in_records(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = {"f": value}
    return value


OWN, REVERSED, ARRAY, MAP, BYTES, STRING, DOUBLE, NESTED, DEEPER, CHAIN, AMOUNT = range(1, 12)
DECLARED: Mapping[int, dict[str, Any]] = {
    OWN: avro_schema(),
    REVERSED: {**avro_schema(), "fields": avro_schema()["fields"][::-1]},
    ARRAY: further({"type": "array", "items": "long"}),
    MAP: further({"type": "map", "values": "long"}),
    BYTES: further("bytes"),
    STRING: further("string"),
    DOUBLE: further("double"),
    NESTED: further(nested(60)),
    DEEPER: further(nested(70)),
    CHAIN: further({"type": "record", "name": "C", "fields": [{"name": "next", "type": ["null", "C"]}]}),
    AMOUNT: with_type("total_cents", ["null", "double"]),
}
UNKNOWN_ID = 4711
SCHEMAS: Schemas = {
    **{number: WriterSchema(number, json.dumps(declared)) for number, declared in DECLARED.items()},
    **dict.fromkeys((UNKNOWN_ID, 0x40616263), None),
}


def ride(**changed: Value) -> dict[str, Value]:
    """A good one that ended at START_US, with other values for some columns."""
    drawn = random_ride(random.Random(1), 1, START_US)
    plain = {"vendor": "1", "pickup_at_us": START_US - 600 * SECOND_US, "dropoff_at_us": START_US}
    amounts: dict[str, Value] = {"pickup_zone": 132, "fare_cents": 1_000, "passenger_count": 1}
    return {**drawn, **plain, **amounts, **changed}


def value(number: int = OWN, extra: Any = None, **changed: Value) -> bytes:
    """As a writer of that schema sends it."""
    return encode_as(number, DECLARED[number], {**ride(**changed), "further": extra})


def varint(number: int) -> bytes:
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*out, left])


def at(when_us: int, sent: bytes | None) -> Sent:
    return Sent(when_us // 1000, sent)


def now(sent: bytes | None) -> Sent:
    return at(START_US, sent)


def ended(when_us: int) -> bytes:
    return value(pickup_at_us=when_us - 600 * SECOND_US, dropoff_at_us=when_us)


GOOD = value()
BODY = GOOD[5:]
FORGED = {
    **{f"text of {name}": GOOD[:5] + varint(length) + b"abc" for name, length in LENGTHS.items()},
    **{
        f"{what} of {name}": value(number, empty)[:-1] + varint(length) + b"abc"
        for what, number, empty in (
            ("array", ARRAY, []),
            ("map", MAP, {}),
            ("bytes", BYTES, b""),
            ("string", STRING, ""),
        )
        for name, length in LENGTHS.items()
        if number in (BYTES, STRING) or length > 0
    },
    "array of a block of 2^60 bytes": value(ARRAY, [])[:-1] + varint(-3) + varint(1 << 60) + b"abc",
}
IN_2098_US = 128 * YEAR_US
KINDS: Mapping[str, Kind] = {
    "a good one": Kind(now(GOOD), USED),
    "wrong magic": Kind(now(b"\x01" + GOOD[1:]), "bad_magic"),
    "its schema's id in a header": Kind(now(BODY), "bad_magic"),
    "the same of a ride without id": Kind(now(b"\0\x40abc" + BODY), "unknown_schema"),
    "unknown schema": Kind(now(b"\0" + UNKNOWN_ID.to_bytes(4, "big") + BODY), "unknown_schema"),
    "truncated": Kind(now(GOOD[:-3]), "undecodable"),
    "trailing": Kind(now(GOOD + b"x"), "trailing_bytes"),
    "another writer's bytes": Kind(now(b"\0\0\0\0" + bytes([REVERSED]) + BODY), "undecodable"),
    "null": Kind(now(None), "null_value"),
    "empty": Kind(now(b""), "too_short"),
    "one byte": Kind(now(b"\0"), "too_short"),
    "10 MB of a text": Kind(now(value(vendor="v" * 10_000_000)), "out_of_bounds:vendor"),
    "10 MB of nothing": Kind(now(b"\0\0\0\0\x01" + bytes(10_000_000)), "trailing_bytes"),
    "10 MB that nobody reads": Kind(now(value(BYTES, bytes(10_000_000))), USED),
    **{f"forged: {name}": Kind(now(forged), "undecodable") for name, forged in FORGED.items()},
    "a record in a record, sixty times": Kind(now(value(NESTED, in_records(60, 1))), USED),
    "the same, of no end": Kind(now(b"\0\0\0\0" + bytes([NESTED]) + BODY), "undecodable"),
    "a schema of seventy records in one another": Kind(
        now(b"\0\0\0\0" + bytes([DEEPER]) + BODY), "incompatible_schema"
    ),
    "a schema that contains itself": Kind(now(value(CHAIN, {"next": {"next": None}})), "incompatible_schema"),
    **{
        f"{number} where nobody reads it": Kind(now(value(DOUBLE, number)), USED)
        for number in (math.nan, math.inf, -math.inf)
    },
    "no number for an amount": Kind(now(value(AMOUNT, total_cents=math.nan)), "undecodable"),  # type: ignore[arg-type]
    "zone 0": Kind(now(value(pickup_zone=0)), "out_of_bounds:pickup_zone"),
    "zone 999": Kind(now(value(pickup_zone=999)), "out_of_bounds:pickup_zone"),
    "drop-off before pick-up": Kind(now(value(pickup_at_us=START_US + 60 * SECOND_US)), USED),
    "the year 1970": Kind(at(0, ended(600 * SECOND_US)), "out_of_bounds:pickup_at_us"),
    "the year 2098": Kind(at(IN_2098_US, ended(IN_2098_US)), USED),
    "the year 2098, sent today": Kind(now(ended(IN_2098_US)), "skewed"),
    "the year 2101": Kind(at(131 * YEAR_US, ended(131 * YEAR_US + 60 * DAY_US)), "out_of_bounds:pickup_at_us"),
    "no timestamp": Kind(Sent(-1, GOOD), "no_timestamp"),
}


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Spark says of each, read together."""
    entries = [(offset, kind.sent.timestamp_ms, kind.sent.value) for offset, kind in enumerate(KINDS.values())]
    folder: Path = tmp_path_factory.mktemp("unusable")
    read = read_source(as_kafka(spark, [Log(TOPIC_NAMES[0], 0, entries=entries)]), RIDES, SCHEMAS, folder)
    found = {row["offset"]: row["reason"] or USED for row in read.select("offset", "reason").collect()}
    return {name: found[offset] for offset, name in enumerate(KINDS)}


def test_values_that_are_large_are_looked_up_where_they_stand(spark: SparkSession, tmp_path: Path) -> None:
    """Parquet would hold a hundred of them in memory, however large they are."""
    names = [name for name in KINDS if "MB" in name] + ["a good one", "null", "trailing"]
    values = [KINDS[name].sent.value for name in names]
    entries = [(offset, START_US // 1000, value) for offset, value in enumerate(values)]
    raw, asked = as_kafka(spark, [Log(TOPIC_NAMES[0], 0, entries=entries)]), list[Place]()

    def look_up(at: Place) -> bytes | None:
        asked.append(at)
        return values[at.offset]

    read = read_source(raw, RIDES, SCHEMAS, tmp_path, look_up=look_up)
    found = {names[row["offset"]]: row["reason"] or USED for row in read.collect()}
    assert found == {name: KINDS[name].fate for name in names}
    assert sorted(names[at.offset] for at in asked) == sorted(name for name in names if "MB" in name)
    assert not spark.read.parquet(str(tmp_path / "decoded")).where("length(value) > 1000000").count()


@pytest.fixture(scope="module")
def by_worker() -> dict[str, str]:
    """What a worker says of each, read as one batch."""
    return dict(zip(KINDS, told_by_worker([kind.sent for kind in KINDS.values()], SCHEMAS), strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_a_record_has_the_fate_that_the_rules_tell(
    name: str, by_worker: dict[str, str], by_spark: dict[str, str]
) -> None:
    kind = KINDS[name]
    assert naive(0, kind.sent, SCHEMAS)[0] == kind.fate
    assert told_by_worker([kind.sent], SCHEMAS) == [kind.fate]
    assert (by_worker[name], by_spark[name]) == (kind.fate, kind.fate)

"""A topic's own schema is held against the columns of its definition."""

from __future__ import annotations

from typing import Any

import pytest

from app.codecs.avro.fit import misfits
from app.codecs.avro.record_schema import record_schema
from app.rides.ride import RIDES
from app.testkit.simulation.parcels import PARCELS
from tests.support.material.schemas.ride import OWN, with_type, without


@pytest.mark.parametrize("source", [RIDES, PARCELS])
def test_the_schema_that_is_written_from_a_source_fits_it(source: Any) -> None:
    assert not list(misfits(source, record_schema(source)))


@pytest.mark.parametrize(
    ("name", "avro_type"),
    [
        ("fare_cents", "int"),
        ("fare_cents", ["long", "null"]),
        ("pickup_at_us", {"type": "long", "logicalType": "timestamp-micros"}),
        ("dropoff_at_us", ["null", {"type": "long", "logicalType": "local-timestamp-micros"}]),
        ("ride_id", {"type": "string", "logicalType": "uuid"}),
    ],
)
def test_other_words_for_the_same_values_fit(name: str, avro_type: Any) -> None:
    assert not list(misfits(RIDES, with_type(name, avro_type)))


def test_further_fields_and_another_name_fit() -> None:
    further = {"name": "battery", "type": {"type": "array", "items": "double"}}
    assert not list(misfits(RIDES, {**OWN, "name": "Trip", "fields": [further, *OWN["fields"]]}))


@pytest.mark.parametrize(
    ("name", "avro_type", "problem"),
    [
        ("fare_cents", "double", "field fare_cents: it is double, and integer columns are read from long or int"),
        ("vendor", "long", "field vendor: it is long, and text columns are read from string"),
        ("shared", "int", "field shared: it is int, and flag columns are read from boolean"),
        ("vendor", ["null", "string", "long"], "field vendor: it is ['null', 'string', 'long']"),
        ("ride_id", ["null", "string"], "field ride_id: it may be null, and the column may not"),
        ("pickup_at_us", {"type": "long", "logicalType": "timestamp-millis"}, "it counts timestamp-millis"),
        ("total_cents", {"type": "bytes", "logicalType": "decimal"}, "integer columns are read from long or int"),
    ],
)
def test_a_field_of_another_type_is_named(name: str, avro_type: Any, problem: str) -> None:
    (told,) = misfits(RIDES, with_type(name, avro_type))
    assert problem in told


def test_a_missing_field_is_named_with_what_it_may_be_called_there() -> None:
    renamed = [field | {"name": "pickup_at"} if field["name"] == "pickup_at_us" else field for field in OWN["fields"]]
    (told,) = misfits(RIDES, {**OWN, "fields": renamed})
    assert told == "there is no field pickup_at_us; did you mean 'pickup_at'?"


def test_in_an_older_version_a_nullable_column_may_be_missing() -> None:
    assert list(misfits(RIDES, without("total_cents")))
    assert not list(misfits(RIDES, without("total_cents"), absent_is_null=True))
    assert list(misfits(RIDES, without("pickup_at_us"), absent_is_null=True))


def test_what_is_no_record_is_refused() -> None:
    assert list(misfits(RIDES, "string")) == ["it is no record"]

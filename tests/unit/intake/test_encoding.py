"""Records are taken by a schema, and each is told why not, in bounded room."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.codecs.avro.from_json import JsonWriter
from app.codecs.avro.schema import WriterSchema
from app.domain.column import Kind
from app.domain.records import Reason, Record
from app.domain.rules.admission import refusal
from app.domain.source import Source, with_derived
from app.edge.intake.encoding import (
    MOST_REASONS_BYTES,
    UNTOLD,
    AnyJson,
    Encoder,
    within_bounds,
)
from app.edge.intake.wanted import Keyed, Reply
from app.rides.ride import RIDES, avro_schema
from tests.support.material.rides_in_json import rides_in_json

PAGE = Path(__file__).parents[3] / "docs" / "intake.md"
NOW_MS = 1_893_456_000_000
LAST_US = (NOW_MS + RIDES.skew_seconds * 1000) * 1000
(RIDE,) = rides_in_json(0, 1)


def encoded(*documents: AnyJson, source: Source = RIDES, now_ms: Callable[[], int] = lambda: NOW_MS) -> list[Any]:
    return Encoder(source, now_ms).encode(writer(), documents)


def writer() -> JsonWriter:
    return JsonWriter(WriterSchema(1, json.dumps(avro_schema())))


def schema_id(outcome: Keyed | str) -> int:
    assert isinstance(outcome, Keyed), outcome
    return int.from_bytes(outcome.value[1:5], "big")


def test_the_ride_that_the_page_sends_is_taken() -> None:
    (ride,) = re.findall(r"^{\"ride_id\".*?}$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (taken,) = encoded(json.loads(ride))
    assert schema_id(taken) == 1


@pytest.mark.parametrize("ahead_us", [-1, 0, 1, 10**9])
def test_a_ride_is_refused_where_those_who_count_it_would_find_it_too_far_ahead(ahead_us: int) -> None:
    ride = RIDE | {"dropoff_at_us": LAST_US + ahead_us}
    counted = Record("rides.yellow", 0, 0, NOW_MS, {column.name: ride.get(column.name) for column in RIDES.columns})
    is_skewed = refusal(RIDES, counted, with_derived(RIDES, counted.values)) == Reason.SKEWED
    (outcome,) = encoded(ride)
    assert (is_skewed, isinstance(outcome, str)) == (ahead_us > 0, ahead_us > 0), outcome


def test_of_a_ride_too_far_ahead_is_told_the_field_that_was_sent_its_instant_and_the_bound() -> None:
    dropped = RIDE | {"dropoff_at_us": LAST_US + 1}
    picked = RIDE | {"pickup_at_us": LAST_US + 1_000_000, "dropoff_at_us": None}
    assert encoded(dropped, picked) == [
        "dropoff_at_us: 2030-01-01T00:10:00.000001Z is more than 10m ahead of the clock by which it would be written",
        "pickup_at_us: 2030-01-01T00:10:01Z is more than 10m ahead of the clock by which it would be written",
    ]


def test_an_instant_of_no_calendar_is_told_as_its_number() -> None:
    open_ended = tuple(
        replace(column, high=None) if column.kind is Kind.INSTANT else column for column in RIDES.columns
    )
    (outcome,) = encoded(RIDE | {"dropoff_at_us": 2**63 - 1}, source=replace(RIDES, columns=open_ended))
    assert str(outcome).startswith(f"dropoff_at_us: {2**63 - 1} µs is more than 10m ahead")


def test_a_ride_that_lay_too_far_ahead_is_taken_when_its_time_has_come() -> None:
    clock = iter([NOW_MS, NOW_MS + 1])
    ride = RIDE | {"dropoff_at_us": LAST_US + 1000}
    first, then = encoded(ride, ride, now_ms=lambda: next(clock))
    assert (isinstance(first, str), isinstance(then, Keyed)) == (True, True), (first, then)


def test_a_text_that_is_too_long_is_told_by_its_length() -> None:
    assert encoded(RIDE | {"ride_id": "é" * 200_000}) == [
        "ride_id: a text of 400,000 bytes is out of bounds, 65,535 at most"
    ]


@pytest.mark.parametrize(
    ("bounds", "told"), [((0, 10), "0 to 10"), ((None, 1_000), "1,000 at most"), ((2_000, None), "2,000 at least")]
)
def test_a_value_out_of_bounds_is_told_those_that_there_are(bounds: tuple[int | None, int | None], told: str) -> None:
    low, high = bounds
    columns = [replace(one, low=low, high=high) if one.name == "pickup_zone" else one for one in RIDES.columns]
    (outcome,) = encoded(RIDE | {"pickup_zone": 1_001}, source=replace(RIDES, columns=tuple(columns), rules=()))
    assert outcome == f"pickup_zone: 1001 is out of bounds, {told}"


@pytest.mark.parametrize("envelope", [{"records": [{"value": RIDE}]}, {"value": RIDE}])
def test_who_sends_an_envelope_is_told_that_there_is_none(envelope: dict[str, Any]) -> None:
    (name,) = envelope
    assert encoded(envelope) == [
        f"{name}: there is no such field; records are sent as they are, in no object about them"
    ]


def test_a_key_may_be_a_column_that_records_do_not_have() -> None:
    (taken,) = encoded(RIDE, source=replace(RIDES, key="duration_us"))
    assert isinstance(taken, Keyed), taken
    assert taken.key == str(RIDE["dropoff_at_us"] - RIDE["pickup_at_us"]).encode()


def test_reasons_are_told_as_long_as_there_is_room_and_one_that_comes_again_takes_none() -> None:
    long, taken = "x" * (MOST_REASONS_BYTES // 2), Keyed(None, b"v")
    outcomes = [long, taken, long, f"{long[1:]}y", "short", long, taken, ""]
    assert list(within_bounds(outcomes)) == [long, taken, long, f"{long[1:]}y", UNTOLD, long, taken, ""]


def test_what_is_told_of_the_most_records_fits_one_record_of_kafka_whatever_they_are() -> None:
    sent = [RIDE | {"fare_cents": f"{n}{'é' * 300}"} for n in range(10_000)]
    outcomes = list(within_bounds(encoded(*sent)))
    assert len(Reply("d", [one for one in outcomes if isinstance(one, str)]).as_json()) < 500_000
    assert str(outcomes[0]).startswith('fare_cents: "0é')
    assert outcomes[-1] == UNTOLD


def test_names_that_are_not_there_are_compared_once_and_told_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def near(name: str, known: Any) -> str:
        compared.append(name)
        return "?"

    monkeypatch.setattr("app.codecs.avro.from_json.did_you_mean", near)
    told = encoded(*(RIDE | {"fare_cent": n} for n in range(50)), RIDE | {"f" * 1_000_000: 1})
    assert told == ["fare_cent: there is no such field?"] * 50 + [f"{'f' * 200}: there is no such field?"]
    assert compared == ["fare_cent", "f" * 200]

"""Records are taken by the registry's latest schema, and each is told why not, in bounded room."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.base.errors import RegistryUnavailable
from app.base.registry.client import Registry, Version
from app.codecs.avro.schema import WriterSchema
from app.domain.column import Kind
from app.domain.records import Reason, Record
from app.domain.rules.admission import refusal
from app.domain.source import Source, with_derived
from app.edge.intake import encoding
from app.edge.intake.encoding import (
    MOST_REASONS_BYTES,
    UNTOLD,
    NoSchemaFits,
    TopicEncoder,
    within_bounds,
)
from app.edge.intake.wanted import Keyed, Reply
from app.rides.ride import RIDES, avro_schema
from tests.support.material.rides_in_json import rides_in_json

TOPIC = RIDES.topics[0].name
PAGE = Path(__file__).parents[3] / "docs" / "intake.md"
NOW_MS = 1_893_456_000_000
LAST_US = (NOW_MS + RIDES.skew_seconds * 1000) * 1000
(RIDE,) = rides_in_json(0, 1)


class HeldRegistry:
    """Says what it is told to, or nothing."""

    def __init__(self, *schemas: Any) -> None:
        self.schemas, self.is_silent = [*schemas], False

    def versions(self, subject: str) -> list[Version]:
        assert subject == f"{TOPIC}-value"
        if self.is_silent:
            raise RegistryUnavailable("it is silent")
        return [Version(n, WriterSchema(n, json.dumps(schema))) for n, schema in enumerate(self.schemas, 1)]

    def encoder(self, source: Source = RIDES, now_ms: Callable[[], int] = lambda: NOW_MS) -> TopicEncoder:
        return TopicEncoder(source, TOPIC, cast(Registry, self), now_ms)


@pytest.fixture(autouse=True)
def asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "SCHEMA_SECONDS", -1.0)


def schema_id(outcome: Keyed | str) -> int:
    assert isinstance(outcome, Keyed), outcome
    return int.from_bytes(outcome.value[1:5], "big")


def test_records_are_taken_by_the_latest_schema_and_by_it_on_while_the_registry_is_silent(
    caplog: pytest.LogCaptureFixture,
) -> None:
    registry = HeldRegistry(avro_schema())
    encoder = registry.encoder()
    assert [schema_id(one) for one in encoder.encode([RIDE])] == [1]
    registry.schemas.append(avro_schema() | {"doc": "The second."})
    assert [schema_id(one) for one in encoder.encode([RIDE])] == [2]
    registry.is_silent = True
    assert [schema_id(one) for one in encoder.encode([RIDE])] == [2]
    assert [record.getMessage() for record in caplog.records] == [
        f"records of {TOPIC} are taken by schema 2 on: it is silent"
    ]
    registry.is_silent, registry.schemas = False, []
    with pytest.raises(NoSchemaFits, match=f"{TOPIC}-value"):
        encoder.encode([RIDE])


def test_the_ride_that_the_page_sends_is_taken() -> None:
    (ride,) = re.findall(r"^{\"ride_id\".*?}$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (taken,) = HeldRegistry(avro_schema()).encoder().encode([json.loads(ride)])
    assert schema_id(taken) == 1


@pytest.mark.parametrize("ahead_us", [-1, 0, 1, 10**9])
def test_a_ride_is_refused_where_those_who_count_it_would_find_it_too_far_ahead(ahead_us: int) -> None:
    ride = RIDE | {"dropoff_at_us": LAST_US + ahead_us}
    counted = Record(TOPIC, 0, 0, NOW_MS, {column.name: ride.get(column.name) for column in RIDES.columns})
    is_skewed = refusal(RIDES, counted, with_derived(RIDES, counted.values)) == Reason.SKEWED
    (outcome,) = HeldRegistry(avro_schema()).encoder().encode([ride])
    assert (is_skewed, isinstance(outcome, str)) == (ahead_us > 0, ahead_us > 0), outcome


def test_of_a_ride_too_far_ahead_is_told_the_field_that_was_sent_its_instant_and_the_bound() -> None:
    dropped = RIDE | {"dropoff_at_us": LAST_US + 1}
    picked = RIDE | {"pickup_at_us": LAST_US + 1_000_000, "dropoff_at_us": None}
    assert HeldRegistry(avro_schema()).encoder().encode([dropped, picked]) == [
        "dropoff_at_us: 2030-01-01T00:10:00.000001Z is more than 10m ahead of the clock by which it would be written",
        "pickup_at_us: 2030-01-01T00:10:01Z is more than 10m ahead of the clock by which it would be written",
    ]


def test_an_instant_of_no_calendar_is_told_as_its_number() -> None:
    open_ended = tuple(
        replace(column, high=None) if column.kind is Kind.INSTANT else column for column in RIDES.columns
    )
    encoder = HeldRegistry(avro_schema()).encoder(replace(RIDES, columns=open_ended))
    (outcome,) = encoder.encode([RIDE | {"dropoff_at_us": 2**63 - 1}])
    assert str(outcome).startswith(f"dropoff_at_us: {2**63 - 1} µs is more than 10m ahead")


def test_a_ride_that_lay_too_far_ahead_is_taken_when_its_time_has_come() -> None:
    clock = iter([NOW_MS, NOW_MS + 1])
    encoder = HeldRegistry(avro_schema()).encoder(now_ms=lambda: next(clock))
    first, then = (encoder.encode([RIDE | {"dropoff_at_us": LAST_US + 1000}])[0] for _ in range(2))
    assert (isinstance(first, str), isinstance(then, Keyed)) == (True, True), (first, then)


def test_a_text_that_is_too_long_is_told_by_its_length() -> None:
    (outcome,) = HeldRegistry(avro_schema()).encoder().encode([RIDE | {"ride_id": "é" * 200_000}])
    assert outcome == "ride_id: a text of 400,000 bytes is out of bounds, None to 65535"


def test_a_key_may_be_a_column_that_records_do_not_have() -> None:
    (taken,) = HeldRegistry(avro_schema()).encoder(replace(RIDES, key="duration_us")).encode([RIDE])
    assert isinstance(taken, Keyed), taken
    assert taken.key == str(RIDE["dropoff_at_us"] - RIDE["pickup_at_us"]).encode()


def test_nothing_is_taken_before_the_registry_has_answered_once() -> None:
    registry = HeldRegistry(avro_schema())
    registry.is_silent = True
    with pytest.raises(RegistryUnavailable):
        registry.encoder().encode([RIDE])


def test_reasons_are_told_as_long_as_there_is_room_and_one_that_comes_again_takes_none() -> None:
    long, taken = "x" * (MOST_REASONS_BYTES // 2), Keyed(None, b"v")
    outcomes = [long, taken, long, f"{long[1:]}y", "short", long, taken, ""]
    assert list(within_bounds(outcomes)) == [long, taken, long, f"{long[1:]}y", UNTOLD, long, taken, ""]


def test_what_is_told_of_the_most_records_fits_one_record_of_kafka_whatever_they_are() -> None:
    encoder = HeldRegistry(avro_schema()).encoder()
    sent = [RIDE | {"fare_cents": f"{n}{'é' * 300}"} for n in range(10_000)]
    outcomes = list(within_bounds(encoder.encode(sent)))
    assert len(Reply("d", [one for one in outcomes if isinstance(one, str)]).as_json()) < 500_000
    assert str(outcomes[0]).startswith('fare_cents: "0é')
    assert outcomes[-1] == UNTOLD


def test_names_that_are_not_there_are_compared_once_and_told_in_short(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def near(name: str, known: Any) -> str:
        compared.append(name)
        return "?"

    monkeypatch.setattr("app.codecs.avro.from_json.did_you_mean", near)
    encoder = HeldRegistry(avro_schema()).encoder()
    told = encoder.encode([RIDE | {"fare_cent": n} for n in range(50)] + [RIDE | {"f" * 1_000_000: 1}])
    assert told == ["fare_cent: there is no such field?"] * 50 + [f"{'f' * 200}: there is no such field?"]
    assert compared == ["fare_cent", "f" * 200]

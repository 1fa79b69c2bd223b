"""A rule's condition holds of the same records in the worker, in Spark and in the naive fold."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from app.codecs.avro.column_arrays import ColumnCells
from app.domain.cleanliness.condition import COMPARISONS, holds, read_condition
from app.domain.cleanliness.rule import rule_problems
from app.domain.records import Value
from app.domain.source import Action, Kind, Rule
from app.engine.core.records.conditions import held
from app.rides.ride import RIDES
from spark_batch.source.column_types import SPARK
from spark_batch.source.conditions import held as held_in_spark
from tests.support.material.histories import START_US, random_ride

NUMBERS = ("fare_cents", "total_cents", "passenger_count", "pickup_at_us", "dropoff_at_us", "shared", "pickup_zone")
COLUMNS = (*NUMBERS, "vendor")


def random_condition(rng: random.Random, depth: int = 2) -> str:
    """The text of some condition over a ride's columns."""
    if depth and rng.random() < 0.4:
        parts = [random_condition(rng, depth - 1) for _ in range(rng.choice((2, 2, 3)))]
        return "(" + f" {rng.choice(('and', 'or'))} ".join(parts) + ")"
    if rng.random() < 0.15:
        return f"{rng.choice(COLUMNS)} is {rng.choice(('', 'not '))}null"
    return f"{_sum(rng)} {rng.choice(list(COMPARISONS))} {_sum(rng) if rng.random() < 0.5 else _number(rng)}"


def _sum(rng: random.Random) -> str:
    terms = (rng.choice(("", "", "2 * ", "-")) + _column(rng) for _ in range(rng.choice((1, 1, 2, 3))))
    return rng.choice((" + ", " - ")).join(terms)


def _column(rng: random.Random) -> str:
    name = rng.choice(NUMBERS)
    return rng.choice((name, name, f"coalesce({name}, 0)"))


def _number(rng: random.Random) -> str:
    return str(rng.choice((0, 1, 255, 999, -500, START_US, 60_000_000)))


def random_rides(rng: random.Random, count: int) -> list[dict[str, Value]]:
    rides = [random_ride(rng, number, START_US) for number in range(count)]
    return [ride | {"shared": rng.choice((True, False, None))} for ride in rides]


def cells_of(rides: list[dict[str, Value]], name: str) -> ColumnCells:
    kind = RIDES.by_name[name].kind
    numbers = [0 if kind is Kind.TEXT or ride[name] is None else int(ride[name] or 0) for ride in rides]
    return ColumnCells(
        kind, np.array([numbers], np.int64), np.array([ride[name] is not None for ride in rides], np.bool_)
    )


@given(st.integers(0, 2**32))
def test_the_worker_says_of_every_ride_what_the_naive_fold_says(seed: int) -> None:
    rng = random.Random(seed)
    condition, rides = read_condition(random_condition(rng)), random_rides(rng, 40)
    assert held(condition, lambda name: cells_of(rides, name)).tolist() == [holds(condition, r) for r in rides]


@pytest.mark.spark
def test_spark_says_of_every_ride_what_the_naive_fold_says(spark: SparkSession) -> None:
    rng = random.Random(1)
    texts = [random_condition(rng) for _ in range(60)]
    sound = [text for text in texts if not [*rule_problems(Rule("odd", Action.COUNT, text), RIDES.asked)]]
    conditions, rides = [read_condition(text) for text in sound], random_rides(rng, 150)
    schema = ", ".join(f"{name} {SPARK[RIDES.by_name[name].kind].sql}" for name in COLUMNS)
    frame = spark.createDataFrame([tuple(ride[name] for name in COLUMNS) for ride in rides], schema)
    rows = frame.select(*(held_in_spark(one).alias(f"_{at}") for at, one in enumerate(conditions))).collect()
    assert [list(row) for row in rows] == [[holds(one, ride) for one in conditions] for ride in rides]
    assert len(conditions) > 50

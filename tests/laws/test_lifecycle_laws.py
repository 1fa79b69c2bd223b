"""What holds for every seed, rate and block of generated life cycles."""

from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from app.rides.lifecycle.dirt import LifecycleDirt
from app.rides.lifecycle.lifecycle import Block, Lifecycle
from app.rides.lifecycle.order import in_order
from app.rides.lifecycle.sources import END, START

SEEDS = st.integers(-(2**63), 2**64 - 1)
SHARES = st.floats(0, 1)
DIRTS = st.builds(LifecycleDirt, SHARES, SHARES, SHARES, SHARES, SHARES)
RATES = st.integers(1_000, 30_000)
"""Few rides a day make short shifts, so that a block has many."""
FIRSTS = st.integers(0, 3_000)
LIFECYCLES = st.builds(Lifecycle, SEEDS, rides_per_day=RATES, dirt=DIRTS)


def records(block: Block) -> list[list[tuple[object, ...]]]:
    """Both frames' records in one order, so that blocks can be put together."""
    return [sorted(map(repr, frame.rows())) for frame in block]  # type: ignore[misc]


@given(LIFECYCLES, FIRSTS, st.integers(0, 90), st.integers(0, 90))
def test_the_records_of_a_ride_are_the_same_in_whatever_block_they_are_made(
    lifecycle: Lifecycle, first: int, before: int, count: int
) -> None:
    whole = lifecycle.block(first, before + count)
    parts = lifecycle.block(first, before), lifecycle.block(first + before, count)
    together = Block(*(pl.concat(frames) for frames in zip(*parts, strict=True)))
    assert records(whole) == records(together)


@given(SEEDS, RATES, FIRSTS, st.integers(1, 1_000))
def test_no_taxi_and_no_driver_is_in_two_rides_at_once(seed: int, rate: int, first: int, count: int) -> None:
    rides = Lifecycle(seed, rides_per_day=rate).rides(first, count)
    for who in ("taxi_id", "driver_id"):
        ordered = rides.sort(who, "pickup_at_us", "dropoff_at_us")
        free_us = pl.col("dropoff_at_us").shift(1).over(who)
        assert ordered.filter(pl.col("pickup_at_us") < free_us).is_empty()


@given(SEEDS, RATES, FIRSTS)
def test_a_taxi_has_one_service_and_a_driver_one_taxi(seed: int, rate: int, first: int) -> None:
    rides = Lifecycle(seed, rides_per_day=rate).rides(first, 1_000)
    assert rides.group_by("taxi_id").agg(pl.col("service").n_unique())["service"].max() == 1
    assert not set(rides["taxi_id"]) & set(rides["driver_id"])
    assert rides.group_by("driver_id").agg(pl.col("taxi_id").n_unique())["taxi_id"].max() == 1


@given(LIFECYCLES, FIRSTS)
def test_an_end_is_behind_its_start_in_time_and_names_the_same_taxi_and_driver(
    lifecycle: Lifecycle, first: int
) -> None:
    events = lifecycle.block(first, 100).events.unique(["ride_id", "kind"], keep="first")
    starts, ends = (events.filter(pl.col("kind") == kind) for kind in (START, END))
    assert starts.height == 100
    met = ends.join(starts, on=["ride_id", "taxi_id", "driver_id", "service"], suffix="_start")
    assert met.height == ends.height
    assert met.filter(pl.col("happened_at_us") <= pl.col("happened_at_us_start")).is_empty()


@given(LIFECYCLES, FIRSTS)
def test_nothing_is_sent_before_it_happened(lifecycle: Lifecycle, first: int) -> None:
    events, fares = lifecycle.block(first, 100)
    assert events.filter(pl.col("clock_ms") < pl.col("happened_at_us") // 1000).is_empty()
    assert fares.filter(pl.col("clock_ms") < pl.col("paid_at_us") // 1000).is_empty()


@given(LIFECYCLES, FIRSTS, st.integers(1, 60), st.integers(1, 20))
def test_the_order_of_sending_does_not_depend_on_the_blocks(
    lifecycle: Lifecycle, first: int, count: int, block_rides: int
) -> None:
    cut = pl.concat(list(in_order(lifecycle, first, count, block_rides)), how="diagonal")
    (whole,) = in_order(lifecycle, first, count, count)
    assert cut["clock_ms"].is_sorted()
    assert cut.select(whole.columns).equals(whole)

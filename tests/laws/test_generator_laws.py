"""What holds for every seed, rate and block of generated rides."""

from __future__ import annotations

import datetime as dt

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from app.rides.frames import RIDE_DTYPES, reported_at_us
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator

SEEDS = st.integers(-(2**63), 2**64 - 1)
RATES = st.floats(0, 1)
TWIN_RATES = st.floats(0, 0.25)
DIRTS = st.builds(Dirt, RATES, RATES, RATES, RATES, TWIN_RATES, RATES, TWIN_RATES)
STARTS = st.datetimes(dt.datetime(2009, 1, 1), dt.datetime(2030, 1, 1), timezones=st.just(dt.UTC))
FIRSTS = st.integers(0, 900_000_000)
YEARS = 10


def generators(first: int) -> st.SearchStrategy[tuple[Generator, int]]:
    """With `first`, a generator that is at most ten years on when it gets there."""
    rides_per_day = st.integers(first // (YEARS * 365) + 1, 10_000_000)
    return st.tuples(st.builds(Generator, SEEDS, STARTS, rides_per_day, DIRTS), st.just(first))


GENERATORS = FIRSTS.flatmap(generators)


@given(GENERATORS, st.integers(0, 90), st.integers(0, 90))
def test_a_ride_is_the_same_in_whatever_block_it_is_made(
    generator_and_first: tuple[Generator, int], skipped: int, count: int
) -> None:
    generator, first = generator_and_first
    block = generator.rides(first, skipped + count)
    assert block[skipped:].equals(generator.rides(first + skipped, count))


@given(GENERATORS)
def test_the_clock_never_falls_and_every_frame_is_a_ride_frame(
    generator_and_first: tuple[Generator, int],
) -> None:
    generator, first = generator_and_first
    rides = generator.rides(first, 100)
    assert rides["clock_ms"].is_sorted()
    assert rides.schema == pl.Schema([*RIDE_DTYPES.items(), ("service", pl.String), ("clock_ms", pl.Int64)])
    assert rides.select("ride_id", "pickup_at_us", "vendor").null_count().row(0) == (0, 0, 0)


@given(SEEDS, STARTS, FIRSTS)
def test_without_dirt_every_ride_is_reported_at_the_clock(seed: int, start: dt.datetime, first: int) -> None:
    rides = Generator(seed, start, dirt=Dirt.none()).rides(first, 200)
    assert rides.select(reported_at_us() // 1_000).to_series().to_list() == rides["clock_ms"].to_list()
    assert rides["ride_id"].n_unique() == rides.height
    assert rides.filter(pl.col("dropoff_at_us") <= pl.col("pickup_at_us")).is_empty()


@given(SEEDS, TWIN_RATES, FIRSTS)
def test_a_refund_stands_right_before_its_positive_twin(seed: int, rate: float, first: int) -> None:
    """Same vendor, times, zones and distance; every amount with the other sign; another ride id."""
    rides = Generator(seed, dirt=Dirt(refunds=rate, duplicates=0)).rides(first, 401)
    twin = rides[1:]
    rides = rides[:-1]
    refund = (rides["fare_cents"] < 0).fill_null(False)
    amounts = [name for name in rides.columns if name.endswith("_cents")]
    rest = [name for name in RIDE_DTYPES if name not in amounts and name != "ride_id"]
    negative, positive = rides.filter(refund), twin.filter(refund)
    assert negative.select(pl.col(amounts) * -1).equals(positive.select(amounts))
    assert negative.select(rest).equals(positive.select(rest))


@given(SEEDS, TWIN_RATES, FIRSTS)
def test_a_duplicate_is_a_whole_record_sent_again_later(seed: int, rate: float, first: int) -> None:
    rides = Generator(seed, dirt=Dirt(duplicates=rate)).rides(first, 6_000).drop("clock_ms")
    again = rides.filter(pl.col("ride_id").is_duplicated())
    assert again["ride_id"].n_unique() == again.unique().height

"""Generated rides: their dirt, their likeness to New York's, and that they never change."""

from __future__ import annotations

import datetime as dt
from functools import cache

import polars as pl
import pytest

from app.domain.source import Kind
from app.edge.cli.main import run
from app.rides.frames import message_keys, reported_at_us
from app.rides.generator.demand import LAST_REPORT
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import EARLIEST_START, Generator
from app.rides.lifecycle.lifecycle import Lifecycle
from app.rides.ride import RIDE_COLUMNS

PINNED = ("bf4ff1a96f5c182294bb2d85723af248", 1767628280000000, 254, 1927)
MINUTE_US = 60_000_000


@cache
def a_day(kind: str = "", rate: float = 0.0) -> pl.DataFrame:
    """A Monday's rides, clean but for one kind of dirt."""
    dirt = Dirt.none() if not kind else Dirt(**{**dict.fromkeys(Dirt.__dataclass_fields__, 0.0), kind: rate})
    return Generator(seed=11, dirt=dirt).rides(0, 100_000)


def share(rides: pl.DataFrame, condition: pl.Expr) -> float:
    return float(rides.select(condition.fill_null(False).mean()).item())


def test_a_ride_of_a_seed_never_changes() -> None:
    """Figures of demos, drills and benchmarks stand on these; changing them is a decision."""
    ride = Generator(seed=7).rides(123_456, 1).row(0, named=True)
    assert (ride["ride_id"], ride["pickup_at_us"], ride["pickup_zone"], ride["fare_cents"]) == PINNED


def test_without_dirt_every_column_is_within_its_bounds() -> None:
    rides = a_day()
    for column in RIDE_COLUMNS:
        if column.low is not None:
            values = rides[column.name].drop_nulls()
            assert values.is_empty() or values.is_between(column.low, column.high).all(), column.name


def test_all_four_services_are_there() -> None:
    shares = dict(a_day()["service"].value_counts(normalize=True).iter_rows())
    assert shares == {
        "yellow": pytest.approx(0.25, abs=0.01),
        "green": pytest.approx(0.03, abs=0.01),
        "fhv": pytest.approx(0.07, abs=0.01),
        "hvfhv": pytest.approx(0.65, abs=0.01),
    }


def test_each_service_publishes_its_own_columns_only() -> None:
    filled = {
        service: {column.name for column in rides if column.null_count() < rides.height}
        for (service,), rides in a_day().group_by("service")
    }
    assert "total_cents" in filled["yellow"] & filled["green"]
    assert "total_cents" not in filled["hvfhv"] | filled["fhv"]
    assert filled["green"] - filled["yellow"] == {"trip_type"}
    assert filled["fhv"] == {
        *(
            "ride_id",
            "vendor",
            "dispatching_base",
            "pickup_at_us",
            "dropoff_at_us",
            "pickup_zone",
            "dropoff_zone",
        ),
        *("service", "clock_ms"),
    }
    assert {"requested_at_us", "driver_pay_cents", "shared"} <= filled["hvfhv"]


def test_a_day_has_its_busy_and_its_quiet_hours() -> None:
    rides = Generator(seed=11, rides_per_day=10_000, dirt=Dirt.none()).rides(0, 70_000)
    first_ms, last_ms = rides["clock_ms"][0], rides["clock_ms"][-1]
    assert (last_ms - first_ms) / 3_600_000 == pytest.approx(7 * 24, abs=1)
    local = pl.from_epoch("clock_ms", "ms").dt.replace_time_zone("UTC").dt.convert_time_zone("America/New_York")
    hours = dict(rides.group_by(local.dt.hour().alias("hour")).len().iter_rows())
    assert min(hours, key=lambda hour: hours[hour]) in (3, 4)
    assert max(hours, key=lambda hour: hours[hour]) in (17, 18, 19)


def test_distances_times_and_fares_are_of_new_yorks_size() -> None:
    yellow = a_day().filter(service="yellow")
    minutes = (yellow["dropoff_at_us"] - yellow["pickup_at_us"]) / MINUTE_US
    assert 150 < yellow["distance_hundredth_miles"].median() < 220  # type: ignore[operator]
    assert 9 < minutes.median() < 14  # type: ignore[operator]
    assert 1_000 < yellow["fare_cents"].mean() < 1_700  # type: ignore[operator]
    assert share(yellow, pl.col("pickup_zone") == 132) == pytest.approx(0.03, abs=0.015)


def test_the_total_is_the_sum_of_its_parts() -> None:
    rides = a_day().filter(pl.col("service").is_in(["yellow", "green"]))
    parts = pl.sum_horizontal(pl.col("^.*_cents$").exclude("total_cents"))
    assert rides.filter(parts != pl.col("total_cents")).is_empty()


def test_disorder_sends_rides_minutes_after_they_ended() -> None:
    delay_ms = pl.col("clock_ms") - reported_at_us() // 1_000
    rides = a_day("disorder", 0.25)
    assert rides.select(delay_ms.is_between(0, 15 * 60_000).all()).item()
    assert share(rides, delay_ms > 0) == pytest.approx(0.25, abs=0.01)


def test_late_rides_come_hours_after_they_ended() -> None:
    delay_ms = pl.col("clock_ms") - reported_at_us() // 1_000
    rides = a_day("late", 0.1)
    assert share(rides, delay_ms >= 3_600_000) == pytest.approx(0.1, abs=0.01)
    assert rides.select((delay_ms <= 48 * 3_600_000).all()).item()


def test_stray_rides_are_in_2008_and_2098_and_keep_their_length() -> None:
    rides, clean = a_day("stray_years", 0.01), a_day()
    year = pl.from_epoch("pickup_at_us", "us").dt.year()
    assert set(rides.filter(year != 2026).select(year).to_series()) == {2008, 2098}
    assert share(rides, year != 2026) == pytest.approx(0.01, abs=0.003)
    length = pl.col("dropoff_at_us") - pl.col("pickup_at_us")
    assert rides.select(length).equals(clean.select(length))


def test_a_null_block_is_null_in_all_its_columns_at_once() -> None:
    rides = a_day("null_blocks", 0.1).filter(service="green")
    block = pl.col("passenger_count").is_null()
    assert share(rides, block) == pytest.approx(0.1, abs=0.02)
    columns = pl.col("rate_code", "payment_type", "trip_type", "stored_and_forwarded", "congestion_surcharge_cents")
    assert rides.filter(block).select(columns).null_count().row(0) == (rides.filter(block).height,) * 5
    assert rides.filter(~block).select(columns).null_count().row(0) == (0,) * 5


def test_zero_distances_are_zero_and_nothing_else_changes() -> None:
    rides, clean = a_day("zero_distances", 0.1), a_day()
    assert share(rides, pl.col("distance_hundredth_miles") == 0) == pytest.approx(0.1 * 0.93, abs=0.01)
    assert rides.drop("distance_hundredth_miles").equals(clean.drop("distance_hundredth_miles"))


def test_refunds_and_duplicates_come_at_their_rates() -> None:
    negative = share(a_day("refunds", 0.05), pl.col("fare_cents") < 0)
    assert negative == pytest.approx(0.05 * 0.93, abs=0.005)
    again = a_day("duplicates", 0.05)
    assert 1 - again["ride_id"].n_unique() / again.height == pytest.approx(0.05, abs=0.005)


def test_the_key_is_the_pickup_zone_and_264_where_there_is_none() -> None:
    rides = a_day()[:1000]
    assert message_keys(rides) == [b"%d" % (zone or 264) for zone in rides["pickup_zone"]]


@pytest.mark.parametrize(("kind", "rate"), [("late", 1.5), ("disorder", -0.1), ("refunds", 0.3)])
def test_a_rate_that_cannot_be_is_refused(kind: str, rate: float) -> None:
    with pytest.raises(ValueError, match=f"dirt {kind}={rate}: a share of the rides"):
        Dirt(**{kind: rate})


def test_a_start_without_time_zone_and_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        Generator(1, dt.datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="numbers go from 0"):
        Generator(1).rides(-1, 5)
    with pytest.raises(ValueError, match="ride 900000000 is reported after 2099-12-31"):
        Generator(1, rides_per_day=1).rides(900_000_000, 1)
    with pytest.raises(ValueError, match="rides_per_day must be"):
        Generator(1, rides_per_day=0)


@pytest.mark.parametrize("start", [EARLIEST_START, LAST_REPORT - dt.timedelta(hours=6)])
def test_no_instant_is_out_of_bounds_wherever_the_rides_begin(start: dt.datetime) -> None:
    rides = Generator(1, start, dirt=Dirt(disorder=0, late=1, stray_years=0)).rides(0, 50_000)
    for column in RIDE_COLUMNS:
        if column.kind is Kind.INSTANT:
            values = rides[column.name].drop_nulls()
            assert values.is_between(column.low, column.high).all(), column.name


@pytest.mark.parametrize("start", ["0001-01-01T00:00:00+12:00", "2000-01-01T00:00+00:00", "9999-12-31T23:59:59-12:00"])
def test_a_start_whose_rides_no_topic_takes_is_refused(start: str) -> None:
    with pytest.raises(ValueError, match=r"is not from 2000-01-06T00:00:00\+00:00 to 2099-12-31T00:00:00\+00:00"):
        Generator(1, dt.datetime.fromisoformat(start))


def test_what_cannot_be_made_is_told_before_the_first_ride_is() -> None:
    generator = Generator(1, LAST_REPORT - dt.timedelta(hours=1))
    generator.require(0, 1_000)
    with pytest.raises(ValueError, match="ride 1000000 is reported after 2099-12-31"):
        generator.require(0, 1_000_000)
    with pytest.raises(ValueError, match="numbers go from 0"):
        generator.require(10**9, 10)
    with pytest.raises(ValueError, match="is reported after 2099-12-31"):
        Lifecycle(1, LAST_REPORT - dt.timedelta(hours=1)).require(0, 1_000)


@pytest.mark.parametrize("start", ["9999-12-31T23:59:59-12:00", "2099-12-30T23:59+00:00", "0001-01-01T00:00:00+12:00"])
@pytest.mark.parametrize("lifecycle", [[], ["--lifecycle"]])
def test_the_command_refuses_a_start_in_one_line(
    start: str, lifecycle: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["generate", "--rides", "100000", "--start", start, *lifecycle]) == 2
    told = capsys.readouterr()
    assert "Error: " in told.err.splitlines()[-1]
    assert "2099-12-31" in told.err

"""The drive itself: service, who drives, where from and to, how far, how long."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

from app.codecs.arrays import Int64s
from app.rides.generator.draws import Choice, Draws
from app.rides.generator.zone_shares import FHV, GREEN, HVFHV, SERVICES, YELLOW, farthest, pick_zones

SERVICE_PERCENT = (25, 3, 7, 65)
"""Yellow, green, FHV, HVFHV. New York has less green and more HVFHV; so the small topics are seen, too."""

# Whole numbers, equally spaced quantiles from the lowest to the highest (Draws.spread).
_ROUTE_PERCENT = (105, 115, 120, 125, 130, 135, 145, 160, 210)  # driven of air distance
_WITHIN_ZONES = (15, 40, 55, 70, 85, 100, 120, 150, 240)  # hundredths of a mile, besides
_PACE_PERCENT = (66, 86, 97, 105, 112, 121, 133, 152, 220)  # of the hour's usual time
_STOP_SECONDS = (40, 90, 120, 180, 300)

# Tenths of a mile per hour, by hour of the day; from TLC's yellow 2019.
SPEED = (
    *(160, 170, 173, 186, 204, 237, 184, 138, 115, 111, 113, 109),
    *(109, 114, 112, 108, 107, 107, 110, 120, 136, 141, 144, 155),
)

_FHV_BASES = tuple(f"B{number:05d}" for number in range(201, 3000, 117))
_VENDOR_PERCENT = {
    YELLOW: {"1": 30, "2": 69, "6": 1},
    GREEN: {"1": 13, "2": 86, "6": 1},
    HVFHV: {"HV0003": 73, "HV0005": 27},
}
_HVFHV_BASES = {"HV0003": ("B02764", "B02872", "B02875", "B03404"), "HV0005": ("B02510",)}
_PASSENGERS = Choice(np.array([[2, 72, 15, 4, 2, 3, 2]]))


def drive(draws: Draws, reported_us: Int64s, hour_of_week: Int64s) -> pl.DataFrame:
    """One row per ride: service, vendor, base, times, zones, distance, passengers, and what the meter needs.

    The zones are always there (`from_zone`, `to_zone`), even where the service does not publish them.
    """
    service = _services().pick(np.zeros_like(reported_us), draws.half_words("service"))
    from_zone, to_zone, air = pick_zones(draws, service, hour_of_week)
    distance = air * draws.spread("route", _ROUTE_PERCENT) // 100 + draws.spread("within zones", _WITHIN_ZONES)
    duration_us = _seconds(draws, distance, hour_of_week % 24) * 1_000_000
    pickup_at_us = reported_us - duration_us
    on_scene_at_us = pickup_at_us - draws.below("boarding", 180) * 1_000_000
    frame = pl.DataFrame(
        {
            "service_number": service,
            "from_zone": from_zone,
            "to_zone": to_zone,
            "driven": distance,
            "seconds": duration_us // 1_000_000,
            "pickup_at_us": pickup_at_us,
            "dropoff_at_us": reported_us,
            "on_scene_at_us": on_scene_at_us,
            "requested_at_us": on_scene_at_us - (60 + draws.below("approach", 600)) * 1_000_000,
            "passenger_count": _PASSENGERS.pick(np.zeros_like(service), draws.half_words("passengers")),
            "hour": hour_of_week % 24,
            "weekend": hour_of_week >= 5 * 24,
            "unplaced": draws.happens("unplaced", 0.32),
            "stored_and_forwarded": draws.happens("stored", 0.006),
            "shared": draws.happens("shared", 0.005),
        }
    )
    return frame.with_columns(_drivers(draws, service)).with_columns(_published())


@cache
def longest_seconds() -> int:
    """No ride takes longer."""
    driven = np.arange(farthest() * max(_ROUTE_PERCENT) // 100 + max(_WITHIN_ZONES) + 1)
    usual = driven * 360 // (min(SPEED) + np.minimum(driven // 8, 150))
    return int(usual.max()) * max(_PACE_PERCENT) // 100 + max(_STOP_SECONDS)


def _published() -> list[pl.Expr]:
    """What each service publishes of the drive; null elsewhere."""
    service = pl.col("service_number")
    metered, hvfhv, fhv = service <= GREEN, service == HVFHV, service == FHV
    placed = ~(fhv & pl.col("unplaced"))
    return [
        pl.when(placed).then("from_zone").alias("pickup_zone"),
        pl.when(placed).then("to_zone").alias("dropoff_zone"),
        pl.when(~fhv).then("driven").alias("distance_hundredth_miles"),
        pl.when(hvfhv).then(pl.col("on_scene_at_us", "requested_at_us")),
        pl.when(metered).then(pl.col("passenger_count", "stored_and_forwarded")),
        pl.when(hvfhv).then("shared"),
        pl.when(service == GREEN).then(1).cast(pl.Int64).alias("trip_type"),
    ]


def _seconds(draws: Draws, distance: Int64s, hour: Int64s) -> Int64s:
    """Length of the ride: the hour's speed, up to 15 mph faster the longer the way, and time at the kerb."""
    speed = np.array(SPEED)[hour] + np.minimum(distance // 8, 150)
    usual: Int64s = distance * 360 // speed
    return usual * draws.spread("pace", _PACE_PERCENT) // 100 + draws.spread("stop", _STOP_SECONDS)


@cache
def _services() -> Choice:
    return Choice(np.array([SERVICE_PERCENT]))


@cache
def _driver_table() -> tuple[Choice, pl.DataFrame]:
    """Weights by service over the rows of a table (vendor, dispatching_base)."""
    rows: list[tuple[str, str | None]] = []
    weights: list[tuple[int, int, int]] = []  # service, row, weight
    for service, percents in _VENDOR_PERCENT.items():
        for vendor, percent in percents.items():
            bases = _HVFHV_BASES.get(vendor, (None,))
            weights += [(service, len(rows) + i, percent * 12 // len(bases)) for i in range(len(bases))]
            rows += [(vendor, base) for base in bases]
    weights += [(FHV, len(rows) + i, 1 + i % 5) for i in range(len(_FHV_BASES))]
    rows += [(base, base) for base in _FHV_BASES]
    table = np.zeros((len(SERVICES), len(rows)), dtype=np.int64)
    for service, row, weight in weights:
        table[service, row] = weight
    return Choice(table), pl.DataFrame(rows, schema={"vendor": pl.String, "dispatching_base": pl.String}, orient="row")


def _drivers(draws: Draws, service: Int64s) -> list[pl.Series]:
    choice, table = _driver_table()
    return table[choice.pick(service, draws.half_words("driver"))].get_columns()

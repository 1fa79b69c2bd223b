"""Where generated rides begin and end: zones by service and hour, drop-offs near their pick-ups.

The facts are in zone_shares.csv, one line per TLC zone with a polygon: its middle (hundredths of a mile east and
north of Midtown), whether TLC's Manhattan surcharges hold there, how many of 10,000 pick-ups of yellow,
green and for-hire rides it has, how many of 10,000 drop-offs, and how its pick-ups lean in each quarter of
the day (100 = as the city does).
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from io import BytesIO

import numpy as np
import polars as pl

from app.codecs.arrays import Int64s
from app.rides.generator.draws import Choice, Draws

SERVICES = ("yellow", "green", "fhv", "hvfhv")
YELLOW, GREEN, FHV, HVFHV = range(4)

JFK, NEWARK = 132, 1
AIRPORTS_WITH_FEE = (JFK, 138)

_PICKUP_WEIGHTS = ("yellow", "green", "for_hire", "for_hire")
_QUARTERS = ("night", "morning", "afternoon", "evening")
_REACH = (40, 30, 50, 50)
"""Hundredths of a mile, by service: at this distance a drop-off is half as likely as next door."""


@cache
def zone_facts() -> pl.DataFrame:
    """zone_shares.csv; one row per zone, by zone number."""
    return pl.read_csv(BytesIO(files(__package__).joinpath("zone_shares.csv").read_bytes()))


def pick_zones(draws: Draws, service: Int64s, hour_of_week: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Pick-up zone, drop-off zone, and the air distance between in hundredths of a mile, per ride."""
    facts = zone_facts()
    quarter = hour_of_week % 24 // 6
    pickup = _pickups().pick(service * 4 + quarter, draws.half_words("pickup zone"))
    dropoff = _dropoffs().pick(service * facts.height + pickup, draws.half_words("drop-off zone"))
    zones = facts["zone"].to_numpy()
    return zones[pickup], zones[dropoff], _distances()[pickup, dropoff]


def farthest() -> int:
    """The longest way between two zones by air, hundredths of a mile."""
    return int(_distances().max())


@cache
def _pickups() -> Choice:
    """Rows: service x quarter of the day; columns: zones."""
    facts = zone_facts()
    rows = [(facts[service] * facts[quarter]).to_numpy() for service in _PICKUP_WEIGHTS for quarter in _QUARTERS]
    return Choice(np.stack(rows))


@cache
def _dropoffs() -> Choice:
    """Rows: service x pick-up zone; columns: zones, weighed by arrivals and nearness to the pick-up."""
    arrivals = zone_facts()["arrivals"].to_numpy()
    squares = _distances() ** 2
    return Choice(np.concatenate([_near(squares, reach) * arrivals for reach in _REACH]))


def _near(squares: Int64s, reach: int) -> Int64s:
    """Weight of a drop-off by its squared distance: 1000 / (1 + (distance / reach) ** 2)."""
    weights: Int64s = 1_000 * reach**2 // (reach**2 + squares) + 1
    return weights


@cache
def _distances() -> Int64s:
    """Air distance between the middles of zones, hundredths of a mile, rows and columns by zone order."""
    facts = zone_facts()
    east, north = facts["east"].to_numpy(), facts["north"].to_numpy()
    squares = (east[:, None] - east) ** 2 + (north[:, None] - north) ** 2
    distances: Int64s = np.sqrt(squares).astype(np.int64)
    return distances

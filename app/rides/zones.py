"""TLC's 265 taxi zones: names and boroughs, joined when answering, never when applying (rule 16)."""

from __future__ import annotations

import csv
import hashlib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

ZONE_COLUMNS = frozenset({"pickup_zone", "dropoff_zone"})
"""Columns of the ride source that hold a zone."""


class Zone(NamedTuple):
    """A zone as TLC publishes it; 264 is TLC's "Unknown", 265 lies outside of the city."""

    number: int
    name: str
    borough: str


@cache
def zones() -> dict[int, Zone]:
    """Every zone by its number."""
    rows = csv.DictReader(_text().splitlines())
    found = (Zone(int(row["LocationID"]), row["Zone"], row["Borough"]) for row in rows)
    return {zone.number: zone for zone in found}


@cache
def edition() -> str:
    """Eight hex digits over the list, so that an answer can say which names it used."""
    return hashlib.sha256(_text().encode()).hexdigest()[:8]


@cache
def _text() -> str:
    return files("app.rides").joinpath("zones.csv").read_text("utf-8")

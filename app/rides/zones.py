"""TLC's 265 taxi zones: names and boroughs, joined when answering, never when applying (rule 16).

They come from a topic of their own, so that they can be corrected without a release; `zones()` is what is published to
it at first.
"""

from __future__ import annotations

import csv
import json
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import orjson

ZONES_TOPIC = "zones"

ZONE_COLUMNS = frozenset({"pickup_zone", "dropoff_zone"})
"""Columns of the ride source that hold a zone."""


class Zone(NamedTuple):
    """A zone as TLC publishes it; 264 is TLC's "Unknown", 265 lies outside of the city."""

    number: int
    name: str
    borough: str


@cache
def zones() -> dict[int, Zone]:
    """Every zone of TLC's list by its number."""
    return read_zones(files("app.rides").joinpath("zones.csv").read_text("utf-8"))


def read_zones(text: str) -> dict[int, Zone]:
    """Zones by number from a CSV file as TLC publishes it. ValueError naming the line of the first mistake."""
    rows = csv.DictReader(text.splitlines())
    found: dict[int, Zone] = {}
    for row in rows:
        try:
            zone = Zone(int(row["LocationID"]), row["Zone"], row["Borough"])
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"line {rows.line_num}: LocationID (a number), Zone and Borough are needed") from None
        if zone.number in found or not zone.name or not zone.borough:
            raise ValueError(f"line {rows.line_num}: zone {zone.number} is there twice, or without name or borough")
        found[zone.number] = zone
    return found


def zone_key(number: int) -> bytes:
    """The key of a zone's record."""
    return str(number).encode()


def zone_value(zone: Zone) -> bytes:
    """The value of a zone's record."""
    return json.dumps({"zone": zone.number, "name": zone.name, "borough": zone.borough}, ensure_ascii=False).encode()


def read_zone(value: bytes) -> Zone:
    """Inverse of `zone_value`; ValueError if it is none."""
    told = orjson.loads(value)
    if not isinstance(told, dict):
        raise ValueError(f"no JSON object: {told!r}")
    number, name, borough = told.get("zone"), told.get("name"), told.get("borough")
    if type(number) is not int or not isinstance(name, str) or not isinstance(borough, str):
        raise ValueError(f"zone (a number), name and borough are needed: {told}")
    return Zone(number, name, borough)

"""Where the taxi zones lie, to be drawn: TLC's own shapes out of a GeoJSON file, or tiles about where they are."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from app.domain.errors import FlagfallError

WIDTH = 1_000
TILE, GAP = 40, 2
MOST_LETTERS = 60
"""That are told of what is there instead."""
NUMBERS = ("OBJECTID", "LocationID")
"""Properties with a zone's number. The published file has 56 and 103 on several polygons by its LocationID, and 57, 104
and 105 on none; by OBJECTID each is there once."""

Point = tuple[int, int]


class ZoneMapUnreadable(FlagfallError):
    """The file of shapes is none. The message names it, and where in it."""


class ZoneMap(NamedTuple):
    """An SVG path for each zone that has a place, in a box of `width` and `height`. `kind`: `shapes` or `tiles`."""

    kind: str
    width: int
    height: int
    paths: Mapping[int, str]


def zone_map(shapes: Path | None) -> ZoneMap:
    """Out of a file of shapes, where there is one."""
    return tile_map() if shapes is None else shape_map(shapes)


def tile_map() -> ZoneMap:
    """A square for each zone, in the order of the city: west to east, north to south, and boroughs together."""
    rows = csv.DictReader(files("app.rides").joinpath("zone_tiles.csv").read_text("utf-8").splitlines())
    places = {int(row["LocationID"]): (int(row["column"]), int(row["row"])) for row in rows}
    side = TILE - GAP
    return ZoneMap(
        "tiles",
        TILE * (1 + max(column for column, _ in places.values())),
        TILE * (1 + max(row for _, row in places.values())),
        {zone: f"M{TILE * column} {TILE * row}h{side}v{side}h-{side}z" for zone, (column, row) in places.items()},
    )


def shape_map(path: Path) -> ZoneMap:
    """The polygons of a GeoJSON file in degrees (WGS 84), north up and WIDTH wide. ZoneMapUnreadable if it is none."""
    try:
        document = orjson.loads(path.read_bytes())
        rings = dict(_rings(document["features"]))
    except OSError as error:
        raise ZoneMapUnreadable(f"{path}: {error.strerror}") from error
    except KeyError as error:
        raise ZoneMapUnreadable(f"{path}: no GeoJSON of zones: there is no {error.args[0]}") from error
    except TypeError as error:
        raise ZoneMapUnreadable(f"{path}: no GeoJSON of zones: {error}") from error
    except ValueError as error:
        raise ZoneMapUnreadable(f"{path}: {error}") from error
    return _drawn(rings)


def _rings(features: Sequence[Any]) -> Iterator[tuple[int, list[list[tuple[float, float]]]]]:
    """Each zone with the rings of all its polygons, in degrees."""
    if not features:
        raise ValueError("it has no features")
    name = next((name for name in NUMBERS if _is_number_of_each(features, name)), None)
    if name is None:
        raise ValueError(f"each feature needs a number of its own, as {' or '.join(NUMBERS)}")
    for place, feature in enumerate(features, 1):
        geometry, told = feature["geometry"], feature["properties"][name]
        try:
            number = int(told)
        except (TypeError, ValueError):
            raise ValueError(f"feature {place}: its {name} is no number: {told!r}") from None
        rings = _rings_of(number, geometry)
        if any(abs(x) > 180 or abs(y) > 90 for ring in rings for x, y in ring):
            raise ValueError(f"zone {number}: its coordinates are no degrees; convert the file to WGS 84")
        yield number, rings


def _rings_of(number: int, geometry: Any) -> list[list[tuple[float, float]]]:
    """Those of a zone."""
    kind = geometry["type"] if isinstance(geometry, dict) else orjson.dumps(geometry).decode()[:MOST_LETTERS]
    if kind not in ("Polygon", "MultiPolygon"):
        article = "a " if isinstance(geometry, dict) else ""
        raise ValueError(f"zone {number}: a Polygon or a MultiPolygon is needed, not {article}{kind}")
    polygons = geometry["coordinates"] if kind == "MultiPolygon" else [geometry["coordinates"]]
    try:
        return [[(float(at[0]), float(at[1])) for at in ring] for polygon in polygons for ring in polygon]
    except (TypeError, ValueError, IndexError, KeyError):
        raise ValueError(f"zone {number}: its coordinates are no polygon's") from None


def _is_number_of_each(features: Sequence[Any], name: str) -> bool:
    for place, feature in enumerate(features, 1):
        if not isinstance(feature["properties"], dict):
            raise ValueError(f"feature {place} has no properties")
    told = [feature["properties"].get(name) for feature in features]
    return None not in told and len(set(told)) == len(told)


def _drawn(rings: Mapping[int, list[list[tuple[float, float]]]]) -> ZoneMap:
    """In whole units: points that fall together are one, and rings without an area are left out."""
    points = [at for of_zone in rings.values() for ring in of_zone for at in ring]
    west, east = min(x for x, _ in points), max(x for x, _ in points)
    south, north = min(y for _, y in points), max(y for _, y in points)
    narrower = math.cos(math.radians((south + north) / 2))
    scale = WIDTH / max((east - west) * narrower, 1e-9)

    def placed(at: tuple[float, float]) -> Point:
        return round((at[0] - west) * narrower * scale), round((north - at[1]) * scale)

    paths = {zone: "".join(_path(list(map(placed, ring))) for ring in of_zone) for zone, of_zone in rings.items()}
    return ZoneMap(
        "shapes", WIDTH, round((north - south) * scale), {zone: path for zone, path in paths.items() if path}
    )


def _path(ring: Sequence[Point]) -> str:
    """Closed, each point told from the one before."""
    points = [at for n, at in enumerate(ring) if not n or at != ring[n - 1]]
    if len(points) > 1 and points[0] == points[-1]:
        del points[-1]
    if len(points) < 3:
        return ""
    steps = "".join(f"l{x - a} {y - b}" for (a, b), (x, y) in pairwise(points))
    return f"M{points[0][0]} {points[0][1]}{steps}z"

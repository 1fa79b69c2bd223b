"""Zones are drawn by TLC's shapes or as tiles, each zone once; a file that cannot be drawn is refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.rides.zone_map import WIDTH, ZoneMapUnreadable, shape_map, tile_map, zone_map
from app.rides.zones import zones

SQUARE = [[[-74.0, 40.0], [-73.0, 40.0], [-73.0, 41.0], [-74.0, 41.0], [-74.0, 40.0]]]
DOT = [[[-73.5, 40.5], [-73.5, 40.5000001], [-73.5, 40.5]]]


def feature(number: int, coordinates: Any = SQUARE, kind: str = "Polygon", **properties: Any) -> dict[str, Any]:
    told = {"OBJECTID": number, "LocationID": number} | properties
    return {"properties": told, "geometry": {"type": kind, "coordinates": coordinates}}


def written(folder: Path, *features: dict[str, Any]) -> Path:
    path = folder / "zones.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def test_tiles_have_every_zone_of_the_city_once_and_none_on_anothers_place() -> None:
    drawn = tile_map()
    assert set(drawn.paths) == set(zones()) - {264, 265}, "unknown and outside of the city have no place"
    assert len(set(drawn.paths.values())) == len(drawn.paths)
    assert drawn == zone_map(None)


def test_shapes_are_drawn_north_up_and_as_wide_as_they_are_on_the_ground(tmp_path: Path) -> None:
    drawn = shape_map(written(tmp_path, feature(1)))
    assert (drawn.kind, drawn.width) == ("shapes", WIDTH)
    assert drawn.height == pytest.approx(WIDTH / 0.76, rel=0.01), (
        "a degree to the east is shorter than one to the north"
    )
    assert drawn.paths == {1: f"M0 {drawn.height}l1000 0l0 -{drawn.height}l-1000 0z"}


def test_several_polygons_and_holes_are_one_path_and_what_is_less_than_a_unit_is_left_out(tmp_path: Path) -> None:
    hole = [[-73.6, 40.4], [-73.4, 40.4], [-73.5, 40.6], [-73.6, 40.4]]
    both = [[*SQUARE, hole], DOT]
    drawn = shape_map(written(tmp_path, feature(1, both, "MultiPolygon"), feature(2, DOT)))
    assert set(drawn.paths) == {1}
    assert drawn.paths[1].count("M") == drawn.paths[1].count("z") == 2


def test_numbers_are_those_that_each_polygon_has_for_itself(tmp_path: Path) -> None:
    """As published, two polygons have LocationID 56 and none has 57."""
    published = written(tmp_path, feature(56), feature(57, LocationID=56))
    assert set(shape_map(published).paths) == {56, 57}
    without = written(tmp_path, feature(56, OBJECTID=None), feature(57, OBJECTID=None))
    assert set(shape_map(without).paths) == {56, 57}


@pytest.mark.parametrize(
    ("features", "why"),
    [
        ([], "it has no features"),
        ([feature(1), feature(1)], "each feature needs a number of its own, as OBJECTID or LocationID"),
        ([feature(1, [0, 0], "Point")], "zone 1: a Polygon or a MultiPolygon is needed, not a Point"),
        ([feature(1, [[[913_175, 120_121], [1, 2], [3, 4]]])], "zone 1: its coordinates are no degrees"),
        ([{"properties": {"OBJECTID": 1}}], "no GeoJSON of zones"),
        ([feature(1), feature(2) | {"geometry": None}], "zone 2: a Polygon or a MultiPolygon is needed, not null"),
        ([feature(1), feature(2) | {"geometry": [1]}], r"zone 2: a Polygon or a MultiPolygon is needed, not \[1\]"),
        ([feature(1), feature(2, None)], "zone 2: its coordinates are no polygon's"),
        ([feature(1), feature(2, [[[1.5], [2]]])], "zone 2: its coordinates are no polygon's"),
        ([feature(1), feature(2, [[["a", "b"]]])], "zone 2: its coordinates are no polygon's"),
        ([feature(1), {"properties": None}], "feature 2 has no properties"),
        ([feature(1), feature("two")], "feature 2: its OBJECTID is no number: 'two'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(features: list[Any], why: str, tmp_path: Path) -> None:
    path = written(tmp_path, *features)
    with pytest.raises(ZoneMapUnreadable, match=f"^{path}: {why}"):
        shape_map(path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ""),
        ("{", ""),
        ("[]", "no GeoJSON of zones: "),
        ('{"features": 1}', "no GeoJSON of zones: "),
        ('{"features": [1]}', "no GeoJSON of zones: "),
        ('{"objects": []}', "no GeoJSON of zones: there is no features"),
    ],
)
def test_a_file_of_anything_else_is_refused_by_name(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "zones.geojson"
    path.write_text(text)
    with pytest.raises(ZoneMapUnreadable, match=f"^{path}: {why}"):
        shape_map(path)
    with pytest.raises(ZoneMapUnreadable, match="No such file"):
        shape_map(tmp_path / "none.geojson")

"""Where zones lie and what they are called, for whoever draws them."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.edge.http.context import Edge, edge_of
from app.edge.http.query.read_query import read_no_parameters
from app.edge.http.responses import json_response
from app.edge.http.zone_names import name_columns, names_document
from app.rides.zone_map import ZoneMap


async def show_zones(request: web.Request) -> web.Response:
    """Every zone that has a place, with its name of this moment; needs no tables, so it is always answered."""
    read_no_parameters(request)
    return json_response(zones_document(edge_of(request)))


def zones_document(edge: Edge) -> dict[str, Any]:
    """Each zone as a path of SVG in one box for all."""
    drawn = edge.zone_map
    return {"data": [_zone(edge, drawn, zone) for zone in sorted(drawn.paths)], "meta": _meta(edge, drawn)}


def _zone(edge: Edge, drawn: ZoneMap, zone: int) -> dict[str, Any]:
    return {"zone": zone, **name_columns(edge.names, "zone", zone), "path": drawn.paths[zone]}


def _meta(edge: Edge, drawn: ZoneMap) -> dict[str, Any]:
    box = {"width": drawn.width, "height": drawn.height}
    return {"drawn_as": drawn.kind, "box": box, "zones": names_document(edge.names)}

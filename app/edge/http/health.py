"""`/livez`: the process answers. `/readyz`: so do its tables."""

from __future__ import annotations

from aiohttp import web

from app.edge.http.context import edge_of
from app.edge.http.view_handlers import json_response


async def livez(request: web.Request) -> web.Response:
    """Always 200: a worker that reads its changelog is alive."""
    return json_response({"live": True, "standing": edge_of(request).standing})


async def readyz(request: web.Request) -> web.Response:
    """200 while queries are answered, else the 503 problem that they would get."""
    edge = edge_of(request)
    edge.require_ready()
    directory = edge.directory
    return json_response({"ready": True, "tasks": sorted(directory.tasks), "partitions": directory.partitions})

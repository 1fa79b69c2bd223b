"""`/livez`: the process answers, and gets on. `/readyz`: so do its tables."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from app.domain.view import View
from app.domain.windows.instants import to_iso
from app.edge.http.context import Edge, edge_of, not_ready
from app.edge.http.problems import Problem
from app.edge.http.responses import json_response
from app.engine.core.building import build_progress
from app.engine.drive.kafka.schemas import Awaited
from app.engine.drive.ownership.directory import Directory

MOST_AWAITED = 20
"""So many schema ids are named; damaged records may name any number."""


async def livez(request: web.Request) -> web.Response:
    """200 unless the worker has input, gets nowhere, and a restart may help: then the 503 problem that says why.

    A worker that reads its changelog is alive; so is one that waits for what another must do.
    """
    edge = edge_of(request)
    stall = None if edge.liveness is None else edge.liveness.dead
    if stall is not None:
        raise Problem("stalled", f"{stall}.", group=stall.group, cause=stall.cause.value, seconds=round(stall.seconds))
    return json_response({"live": True, "standing": edge.standing})


async def readyz(request: web.Request) -> web.Response:
    """200 while queries about every task group are answered, else the 503 problem that some would get.

    Both list the groups, as one may recover while the others answer, and the schema ids that tasks wait for: then
    the answers are right, and grow old.
    """
    edge = edge_of(request)
    groups = {group.name: _facts(group.directory, group.views) for group in edge.groups}
    awaited = _awaited_schemas(edge)
    if not edge.ready:
        raise not_ready(edge.standing, groups=groups, awaited_schemas=awaited)
    return json_response({"ready": True, "groups": groups, "awaited_schemas": awaited})


def _awaited_schemas(edge: Edge) -> dict[str, object]:
    """How many, and those that are waited for longest: since when, and what the registry said instead."""
    awaited = edge.awaited_schemas()
    return {"count": len(awaited), "longest": [_awaited(one) for one in awaited[:MOST_AWAITED]]}


def _awaited(one: Awaited) -> dict[str, object]:
    since = to_iso(one.since_us)
    return {"id": one.schema_id, "since": since, "why": one.why or f"asked since {since}, no answer yet"}


def _facts(directory: Directory, views: Sequence[View]) -> dict[str, object]:
    return {
        "standing": directory.standing_now,
        "tasks": sorted(directory.tasks),
        "partitions": directory.partitions,
        "recovering": {
            str(partition): _progress(*progress) for partition, progress in sorted(directory.recovering.items())
        },
        "building": {
            str(partition): {view: _progress(*progress) for view, progress in building.items()}
            for partition, task in sorted(directory.tasks.items())
            if (building := build_progress(views, task.marker))
        },
        "standby": {str(partition): next_offset for partition, next_offset in sorted(directory.standby.items())},
    }


def _progress(done: int, of: int) -> dict[str, int]:
    return {"done_offsets": done, "all_offsets": of}

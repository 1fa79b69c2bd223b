"""Tasks: what each has read, whoever owns it, and whether or not a view is over its sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aiohttp import web

from app.edge.http.across_tasks import AcrossTasks
from app.edge.http.context import Edge, ServedGroup, edge_of
from app.edge.http.owners import partitions_missing
from app.edge.http.problems import bad_parameter
from app.edge.http.query.instants import watermark_text
from app.edge.http.query.read_query import is_partial_allowed
from app.edge.http.responses import json_response
from app.edge.http.rows.view_handlers import read_partition
from app.edge.http.tasks.gather_tasks import gather_tasks, own_tasks
from app.edge.http.tasks.standing import TaskStanding, encode_standings


async def list_tasks(request: web.Request) -> web.Response:
    """Where every task of every group stands, or of those that `group` names: one entry for each partition."""
    edge = edge_of(request)
    groups = _groups(edge, request, also=("partial",))
    partial_allowed = is_partial_allowed(request.query)
    for group in groups:
        edge.require_answers(group.directory)
    told: list[dict[str, Any]] = []
    partial = False
    for group in groups:
        gathered = await gather_tasks(edge, group)
        if gathered.is_partial and not partial_allowed:
            raise partitions_missing(group.name, group.directory, gathered.missing, takes_partial=True)
        partial |= gathered.is_partial
        told += _documents(group, gathered)
    return json_response({"data": told, "meta": {"partial": partial}})


async def give_tasks(request: web.Request) -> web.Response:
    """The asked tasks that are owned here; the others are left out, never forwarded."""
    edge = edge_of(request)
    (group,) = _groups(edge, request, also=("partition",), one=True)
    edge.require_answers(group.directory)
    partitions = [read_partition(edge, group.directory, text) for text in request.query.getall("partition", [])]
    return web.Response(body=encode_standings(own_tasks(group, partitions)), content_type="application/json")


def _groups(edge: Edge, request: web.Request, also: tuple[str, ...], *, one: bool = False) -> list[ServedGroup]:
    """The groups that are named, or all of them; `also` names the parameters that the caller reads himself."""
    by_name = {group.name: group for group in edge.groups}
    for name, value in request.query.items():
        if name not in ("group", *also):
            raise bad_parameter(name, value, f"unknown; {request.path} takes {', '.join(('group', *also))}")
    asked = request.query.getall("group", [] if one else list(by_name))
    if unknown := [name for name in asked if name not in by_name]:
        raise bad_parameter("group", unknown[0], f"one of {', '.join(by_name)}")
    if one and len(asked) != 1:
        raise bad_parameter("group", ", ".join(asked), f"give one of {', '.join(by_name)}")
    return [by_name[name] for name in dict.fromkeys(asked)]


def _documents(group: ServedGroup, gathered: AcrossTasks[TaskStanding]) -> Iterator[dict[str, Any]]:
    sources = [source.name for source in group.sources]
    for partition in range(group.directory.partitions):
        told = {
            "group": group.name,
            "sources": sources,
            "partition": partition,
            "owner": group.directory.owners.get(partition),
        }
        if partition in gathered.missing:
            yield told | {"state": "missing", "why": gathered.missing[partition]}
        else:
            yield told | _document(gathered.parts[partition])


def _document(task: TaskStanding) -> dict[str, Any]:
    states = {f"{topic}-{task.partition}": state for topic, state in sorted(task.inputs.items())}
    return {
        "state": "building" if task.building else "live",
        "as_of": watermark_text(AcrossTasks({task.partition: task}).lowest_watermark_us),
        "position": {at: state.next_offset for at, state in states.items()},
        "watermark": {at: watermark_text(state.watermark_us) for at, state in states.items()},
        "lag_records": {at: state.lag_records for at, state in states.items()},
        "sequence": task.sequence,
        "changelog_offset": task.changelog_offset,
        "building": {
            view: {"done_offsets": done, "all_offsets": there} for view, (done, there) in task.building.items()
        },
    }

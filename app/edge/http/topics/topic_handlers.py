"""`/v1/topics`: what the application reads and writes, as the cluster has it, and how far its tasks are behind."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from app.base.kafka.topic import Topic
from app.edge.http.brokers import Brokers
from app.edge.http.context import Edge, ServedGroup, edge_of
from app.edge.http.problems import Problem, bad_parameter
from app.edge.http.query.parameters import (
    unknown,
)
from app.edge.http.query.read_query import read_no_parameters
from app.edge.http.responses import json_response
from app.edge.http.tasks.gather_tasks import gather_tasks
from app.edge.published.known_topics import KnownTopics, TopicNow

GROUP = "group"
MOST_GROUPS, MOST_GROUP_LETTERS = 10, 249


async def list_topics(request: web.Request) -> web.Response:
    """The application's topics, and what is in them; asks no broker."""
    read_no_parameters(request)
    edge = edge_of(request)
    return json_response({"data": [_declared(edge, topic) for topic in _known(edge).entries.values()]})


async def show_topic(request: web.Request) -> web.Response:
    """A topic as the cluster has it now: offsets of each partition, configuration, and the lag of each task that reads
    it, null of one that cannot be asked; and of those consumer groups that are asked for."""
    groups = _asked_groups(request)
    edge, name = edge_of(request), request.match_info["topic"]
    known = _known(edge)
    if name not in known.entries:
        raise Problem("unknown-topic", f"{name!r} is none of the application's; there are: {', '.join(known.entries)}.")
    now = await Brokers(edge.limits.max_seconds).answer(known.now(name, groups))
    if now is None:
        raise Problem("unknown-topic", f"{name} is not there: `flagfall topics create` makes it.")
    return json_response(
        {
            **_declared(edge, known.entries[name]),
            "replication_factor": now.described.replicas,
            "settings": dict(sorted(now.described.settings.items())),
            "partitions": _partitions(now),
            "readers": [await _reader(edge, group, name) for group in edge.groups if name in group.topics],
            "groups": [
                {"group": group, "state": now.groups[group].state, "partitions": _behind(now, group)}
                for group in groups
            ],
        }
    )


def _asked_groups(request: web.Request) -> list[str]:
    for name in request.query:
        if name != GROUP:
            raise unknown(request.query, name, f"there is {GROUP}, repeatable")
    groups = list(dict.fromkeys(request.query.getall(GROUP, [])))
    for group in groups:
        if not (0 < len(group) <= MOST_GROUP_LETTERS and group.isprintable()):
            raise bad_parameter(GROUP, group, f"a consumer group's name, of 1 to {MOST_GROUP_LETTERS} letters")
    if len(groups) > MOST_GROUPS:
        raise bad_parameter(GROUP, ", ".join(groups), f"{MOST_GROUPS} at most")
    return groups


def _partitions(now: TopicNow) -> list[dict[str, Any]]:
    """Offsets of each, and which brokers have it."""
    told = []
    for partition, start in sorted(now.starts.items()):
        leader, replicas, in_sync = now.described.copies[partition]
        offsets = {"partition": partition, "start": start, "end": now.ends[partition]}
        told.append({**offsets, "leader": leader, "replicas": [*replicas], "in_sync_replicas": [*in_sync]})
    return told


def _behind(now: TopicNow, group: str) -> list[dict[str, Any]]:
    """How far a consumer group is, and how far behind; null where it has committed nothing."""
    told = []
    for partition, end in sorted(now.ends.items()):
        offset = now.groups[group].offsets.get(partition)
        lag = None if offset is None else max(end - offset, 0)
        told.append({"partition": partition, "next_offset": offset, "lag_records": lag})
    return told


def _known(edge: Edge) -> KnownTopics:
    assert edge.topics is not None, "the application was made without them"
    return edge.topics


def _declared(edge: Edge, topic: Topic) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "help": topic.help,
        "key": topic.key,
        "value": topic.value,
        "subject": topic.subject,
        "takes_records": edge.intake is not None and topic.name in edge.intake.topics,
    }


async def _reader(edge: Edge, group: ServedGroup, topic: str) -> dict[str, Any]:
    parts = (await gather_tasks(edge, group)).parts if group.directory.answers else {}
    tasks = []
    for partition in range(group.directory.partitions):
        at = parts[partition].inputs.get(topic) if partition in parts else None
        told = {"next_offset": at and at.next_offset, "lag_records": at and at.lag_records}
        tasks.append({"partition": partition, **told})
    return {"group": group.name, "tasks": tasks}

"""Clients that follow changes of a page, and how long after it was sent a ride had come to them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
from aiohttp import ClientSession, ClientTimeout
from yarl import URL

from app.domain.records import TopicPartition
from benchmarks.latency.committed import Commit

MOVING = "/v1/views/vendor_trips/changes"
"""A page that every ride changes."""
NOTED = 10
"""So many of the clients read what they are told; the others take it."""
LAST_SECONDS = 3.0
"""So long they go on when the rides that count have been sent."""


class Told(NamedTuple):
    """An event, and up to where the rows behind it were."""

    at_seconds: float
    position: dict[str, int]


async def following(session: ClientSession, clients: int, seconds: float) -> tuple[list[list[Told]], int]:
    """Follow for so long, and a little longer: what some of the clients were told, and how many events all were."""
    until = time.monotonic() + seconds + LAST_SECONDS
    noted: list[list[Told]] = [[] for _ in range(min(NOTED, clients))]
    events = await asyncio.gather(
        *(_follow(session, until, noted[nth] if nth < len(noted) else None) for nth in range(clients))
    )
    return noted, sum(events)


async def _follow(session: ClientSession, until: float, noted: list[Told] | None) -> int:
    events = 0
    patience = ClientTimeout(total=None, sock_read=60)
    async with session.get(URL(MOVING, encoded=True), timeout=patience) as answer:
        answer.raise_for_status()
        async for line in answer.content:
            if line.startswith(b"data:"):
                events += 1
                if noted is not None:
                    noted.append(Told(time.time(), orjson.loads(line[5:])["meta"]["position"]))
            if time.monotonic() > until:
                break
    return events


def as_commits(told: Iterable[Told]) -> list[Commit]:
    """The events of a client as if they were commits of each task."""
    return [
        Commit(at_seconds, partition, offsets, 0.0)
        for at_seconds, position in told
        for partition, offsets in by_partition(position).items()
    ]


def by_partition(position: dict[str, int]) -> dict[int, dict[str, int]]:
    """`{"rides.yellow-0": 7}` as `{0: {"rides.yellow": 7}}`."""
    found: dict[int, dict[str, Any]] = {}
    for at, next_offset in position.items():
        topic, _, partition = at.rpartition("-")
        place = TopicPartition(topic, int(partition))
        found.setdefault(place.partition, {})[place.topic] = next_offset
    return found

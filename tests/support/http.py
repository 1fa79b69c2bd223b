"""The edge on a test server: applications of hand-made directories, asked as a client would."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from app.base.access_settings import AccessSettings
from app.base.kafka.cluster import Cluster
from app.base.setting_groups import HttpSettings, KafkaSettings
from app.domain.measures.kinds import Count, First, Last, Min
from app.domain.rows import RowKey
from app.domain.view import Group, View
from app.domain.windows.tumbling import Tumbling
from app.edge.http.application import create_app
from app.edge.http.context import ServedGroup
from app.edge.http.entry.unreadable import READING
from app.edge.http.zone_names import Names, no_names
from app.edge.intake.intake import Intake
from app.edge.published.known_topics import KnownTopics
from app.engine.drive.ownership.directory import Directory
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from app.rides.zones import zone_key, zone_value, zones
from tests.support.material.stored.runs import verdicts_in
from tests.support.material.stored.tables import cells_of, ready_directory, task_of

PANE_US = 300_000_000
NOON_US = 1_706_702_400_000_000
BY_BASE = View(
    number=77,
    name="by_base",
    source=RIDES,
    groups=(Group("base", "dispatching_base"), Group("zone", "pickup_zone")),
    window=Tumbling("pickup_at_us", 300),
    measures=(
        Count("rides"),
        First("first_us", "duration_us"),
        Last("last_us", "duration_us"),
        Min("least_cents", "fare_cents"),
    ),
    grace_seconds=3600,
    retention_seconds=0,
    help="By base, a text.",
)
VIEWS = (ZONE_DEMAND, VENDOR_TRIPS, BY_BASE)
NEEDS_TABLES = (
    "/v1/views/zone_demand",
    "/v1/views/zone_demand/rows",
    "/v1/views/zone_demand/export?partition=0",
    "/v1/internal/views/zone_demand/parts?partition=0",
    "/v1/internal/tables?view=zone_demand&partition=0",
    "/v1/tasks",
    "/v1/internal/tasks?group=rides&partition=0",
    "/readyz",
)
ANSWERS_ALWAYS = (
    "/livez",
    "/metrics",
    "/openapi.json",
    "/v1/views",
    "/v1/zones",
    "/favicon.ico",
    *(f"/static/{name}" for name in ("page.css", "icon.svg", "city.css", "city.js")),
)

PATIENT = HttpSettings(statement_seconds=600)
"""A machine that is slow refuses no statement."""

Client = TestClient[web.Request, web.Application]
Serve = Callable[[Directory], Awaitable[Client]]


@asynccontextmanager
async def server_of(
    data_dir: Path,
    views: Sequence[View] = VIEWS,
    limits: HttpSettings = PATIENT,
    history: Path | None = None,
    access: AccessSettings | None = None,
    intakes: Callable[[], Intake | None] = lambda: None,
    topics: KnownTopics | None = None,
) -> AsyncIterator[Serve]:
    """Starts the application of a directory, whose URL becomes the server's, as a worker's would be. `intakes` makes
    each its own."""
    clients: list[Client] = []

    async def start(directory: Directory) -> Client:
        served = [ServedGroup("rides", directory, tuple(views), (RIDES,))]
        names, verdicts = published_names(), verdicts_in(data_dir)
        known = topics or KnownTopics(KafkaSettings(), [], Cluster(KafkaSettings()))
        own = {"limits": limits, "history": history, "access": access, "intake": intakes(), "topics": known}
        made = create_app(served, verdicts, names=names, **own)
        server = TestServer(made)
        await server.start_server(**READING)
        client: Client = TestClient(server)
        clients.append(client)
        url = str(client.make_url("")).rstrip("/")
        directory.owners = {p: url if o == directory.url else o for p, o in directory.owners.items()}
        directory.url = url
        return client

    try:
        yield start
    finally:
        for client in clients:
            await client.close()


def one_task() -> Directory:
    """Of a worker that owns the only task there is."""
    return ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132), (1, None)), BY_BASE: {}, VENDOR_TRIPS: {}})])


def published_names() -> Names:
    """TLC's names, as a worker has them that has read their topic."""
    names = no_names()
    for zone in zones().values():
        names.take(zone_key(zone.number), zone_value(zone))
    names.next_offset, names.why = len(names.values), None
    return names


def url_of(client: Client) -> str:
    """Where the client's server listens."""
    return str(client.make_url("")).rstrip("/")


def zone_table(*places: tuple[int, int | None], seed: int = 1) -> dict[RowKey, tuple[int, ...]]:
    """Rows at (pane number after noon, zone)."""
    return {
        RowKey(NOON_US + pane * PANE_US, (zone,)): cells_of(ZONE_DEMAND, seed + at)
        for at, (pane, zone) in enumerate(places)
    }


def told_to(address: str, url: str) -> list[Any]:
    """What each of the last lines gives that docs/http.md has for analysts at this address, asked of this worker."""
    page = (Path(__file__).parents[2] / "docs/http.md").read_text("utf-8")
    (code,) = (code for code in re.findall(r"```python\n(.+?)```", page, re.DOTALL) if address in code)
    before, _, lines = code.replace("http://127.0.0.1:18081", url).rpartition("\n\n")
    names: dict[str, Any] = {}
    exec(before, names)
    return [eval(line, names) for line in lines.splitlines()]

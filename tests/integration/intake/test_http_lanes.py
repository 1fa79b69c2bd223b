"""Who is brought what is for another worker's lane sends it on, waits for so long, and says what is certain."""

from __future__ import annotations

from pathlib import Path

from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.edge.http.intake.brought import KEY
from app.edge.intake.intake import lane_of
from app.edge.intake.lane import Lane
from app.edge.intake.memory import Memory
from app.edge.intake.wanted import Wanted
from app.rides.views import ZONE_DEMAND
from app.topics import REMEMBERED_MS
from tests.integration.intake.brought import PATH, problem, stored
from tests.support.http import Client, Serve, server_of, url_of
from tests.support.machine.waiting import patient
from tests.support.material.rides_in_json import rides_in_json
from tests.support.material.stored.tables import ready_directory, task_of


async def test_whichever_worker_is_asked_the_owner_of_the_lane_writes(serve: Serve, taking: Settings) -> None:
    there = await serve(ready_directory([task_of(1, {ZONE_DEMAND: {}})], partitions=2))
    directory = ready_directory([task_of(0, {ZONE_DEMAND: {}})], partitions=2)
    directory.owners = {0: directory.url, 1: url_of(there)}
    here = await serve(directory)
    key = next(key for key in map(str, range(99)) if lane_of(key) % 2 == 1)
    (ride,) = rides_in_json(0, 1)
    asked_here = await here.post(PATH, json=ride, headers={KEY: key})
    asked_there = await there.post(PATH, json=ride, headers={KEY: key})
    assert (asked_here.status, await asked_here.json()) == (200, await asked_there.json())
    assert asked_here.headers["Flagfall-Position"] == asked_there.headers["Flagfall-Position"]
    assert len(stored(taking)) == 1
    reused = await here.post(PATH, json=[ride, ride], headers={KEY: key})
    status, slug, document = await problem(reused)
    assert (status, slug, document["instance"]) == (422, "key-reused", PATH)


async def test_a_lane_whose_owner_takes_nothing_is_not_ready(serve: Serve, taking: Settings, tmp_path: Path) -> None:
    async with server_of(tmp_path) as serve_none:
        there = await serve_none(ready_directory([task_of(1, {ZONE_DEMAND: {}})], partitions=2))
        directory = ready_directory([task_of(0, {ZONE_DEMAND: {}})], partitions=2)
        directory.owners = {0: directory.url, 1: url_of(there)}
        here = await serve(directory)
        key = next(key for key in map(str, range(99)) if lane_of(key) % 2 == 1)
        status, slug, document = await problem(await here.post(PATH, json=rides_in_json(0, 1), headers={KEY: key}))
        owner = url_of(there)
    assert (status, slug, document["instance"]) == (503, "not-ready", PATH)
    assert f"{owner} takes no records. FLAGFALL_HTTP_INTAKE is the same" in document["detail"]


async def test_nothing_is_written_while_nobody_has_the_lane(serve: Serve, taking: Settings) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: {}})], partitions=2)
    directory.owners = {0: directory.url}
    client = await serve(directory)
    key = next(key for key in map(str, range(99)) if lane_of(key) % 2 == 1)
    answer = await client.post(PATH, json=rides_in_json(0, 1), headers={KEY: key})
    assert (await problem(answer))[:2] == (503, "not-ready")
    assert "Retry-After" in answer.headers
    assert stored(taking) == {}


async def test_a_lane_that_another_worker_had_meanwhile_is_opened_anew_and_the_request_written_once(
    client: Client, taking: Settings
) -> None:
    rides = rides_in_json(0, 2)
    first = await client.post(PATH, json=rides[0], headers={KEY: "n1"})
    other = Lane(librdkafka_options(taking.kafka), taking.app_id, lane_of("n1"), Memory(REMEMBERED_MS, 1_000_000))
    other.write(Wanted("rides.green", ["refused"], "other", "d")).result(patient(30))
    key = next(key for key in map(str, range(99)) if lane_of(key) == lane_of("n1"))
    then = await client.post(PATH, json=rides[1], headers={KEY: key})
    again = await client.post(PATH, json=rides[0], headers={KEY: "n1"})
    assert [first.status, then.status, again.status] == [200, 200, 200], await then.text()
    assert await again.json() == await first.json()
    assert sorted(map(str, stored(taking).values())) == sorted(ride["ride_id"] for ride in rides)


async def test_an_owner_that_nothing_listens_for_was_sent_nothing(serve: Serve, unused_tcp_port: int) -> None:
    directory = ready_directory([task_of(0, {ZONE_DEMAND: {}})], partitions=2)
    directory.owners = {0: directory.url, 1: f"http://127.0.0.1:{unused_tcp_port}"}
    here = await serve(directory)
    key = next(key for key in map(str, range(99)) if lane_of(key) % 2 == 1)
    status, slug, told = await problem(await here.post(PATH, json=rides_in_json(0, 1), headers={KEY: key}))
    assert (status, slug, told["detail"].startswith("Nothing was written: its lane's owner")) == (
        503,
        "not-ready",
        True,
    )

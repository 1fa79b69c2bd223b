"""What others do not answer or refuse is told to those alone whom it is about."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Event

import pytest

from app.base.registry.client import Registry, Version
from app.base.settings import Settings
from app.edge.http.intake.brought import KEY
from app.edge.intake.intake import Intake
from app.rides.ride import RIDES
from tests.integration.intake.brought import PATH, narrow, problem, stored
from tests.support.http import Client, one_task, server_of
from tests.support.machine.waiting import patient
from tests.support.material.rides_in_json import rides_in_json


@pytest.fixture
async def hurried(taking: Settings, tmp_path: Path) -> AsyncIterator[Client]:
    """Of a worker whose requests have little time."""
    limits = taking.http.model_copy(update={"max_seconds": patient(4)})
    async with server_of(tmp_path, limits=limits, intakes=lambda: Intake(taking, [RIDES], [])) as serve:
        yield await serve(one_task())


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """Until it is set the registry is silent about a topic."""
    answered, versions = Event(), Registry.versions

    def later(registry: Registry, subject: str) -> list[Version]:
        if subject == "rides.fhv-value":
            answered.wait(patient(60))
        return versions(registry, subject)

    monkeypatch.setattr(Registry, "versions", later)
    yield answered
    answered.set()


async def test_a_registry_that_is_silent_about_a_topic_holds_its_requests_alone(
    silent: Event, hurried: Client, taking: Settings
) -> None:
    (ride,) = rides_in_json(0, 1)
    status, slug, told = await problem(await hurried.post("/v1/rides?service=fhv", json=ride))
    assert (status, slug) == (503, "no-schema")
    assert "The schema of rides.fhv: the registry, asked for the first time, has not told it" in told["detail"]
    assert (await hurried.post(PATH, json=ride)).status == 200
    silent.set()
    assert (await hurried.post("/v1/rides?service=fhv", json=ride)).status == 200
    assert len(stored(taking)) == 2


async def test_a_ride_that_its_topic_does_not_take_is_refused_for_good_and_leaves_others_alone(
    client: Client, taking: Settings
) -> None:
    narrow(taking)
    small, mended = rides_in_json(0, 2)
    large = small | {"ride_id": "".join(chr(0x4E00 + n * 7919 % 20_000) for n in range(20_000))}
    for _ in range(2):
        sent = [large, {"fare_cent": 1}]
        status, slug, told = await problem(await client.post("/v1/rides?service=fhv", json=sent, headers={KEY: "n1"}))
        assert (status, slug, told["retryable"]) == (422, "refused-records", False)
        assert told["records"][0]["refused"].startswith("rides.fhv: it, or what it has for one partition, takes more")
        assert told["records"][1]["refused"].startswith("fare_cent: there is no such field")
    assert (await client.post(PATH, json=small, headers={KEY: "n2"})).status == 200
    assert (await client.post("/v1/rides?service=fhv", json=mended, headers={KEY: "n1"})).status == 200

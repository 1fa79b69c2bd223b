"""What must be asked of the brokers: where they say nothing, the answer names them, not the size of the question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from app.base.kafka.cluster import NotNow
from app.base.setting_groups import HttpSettings
from app.edge.http import brokers
from app.edge.http.application import create_app
from app.edge.http.context import Edge, ServedGroup
from app.edge.published.result_topic import FINALS, ResultTopic
from app.engine.drive.kafka.row_search import Rulings
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, one_task
from tests.support.material.stored.runs import verdicts_in

RESULTS = "windows.zone_demand"
EVIDENCE = {"zone": "132", "from": "2024-01-31T12:00:00Z"}
PATIENT = HttpSettings(max_seconds=60)


@pytest.fixture(autouse=True)
def impatient_with_brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """They have a small part of a request's time: a machine that is slow does not cut the request first."""
    monkeypatch.setattr(brokers, "PART", 0.005)


async def says_nothing(*_: object, **__: object) -> Any:
    await asyncio.get_running_loop().create_future()


async def cannot_be_asked(*_: object, **__: object) -> Any:
    raise NotNow("rides.yellow-0: no leader of it answers")


async def no_rulings(*_: object) -> Rulings:
    return Rulings({}, {})


@asynccontextmanager
async def worker_with(data_dir: Path, results: Any = None) -> AsyncIterator[Client]:
    finals = ResultTopic(RESULTS, FINALS, "zone_demand", "Final rows.")
    served = ServedGroup("rides", one_task(), (ZONE_DEMAND,), (RIDES,), None, (finals,))
    app = create_app([served], verdicts_in(data_dir), limits=PATIENT, results=results)
    async with TestClient(TestServer(app)) as client:
        yield client


async def problem_of(client: Client, address: str, **asked: str) -> tuple[int, str, str]:
    answer = await client.get(address, params=asked)
    told = await answer.json(content_type=None)
    return answer.status, told["type"].removeprefix("urn:flagfall:problem:"), told["detail"]


@pytest.mark.parametrize("silent", ["rulings", "spans"])
async def test_evidence_of_brokers_that_say_nothing_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    searcher = SimpleNamespace(**{"rulings": no_rulings, silent: says_nothing})
    monkeypatch.setattr(Edge, "searcher", lambda *_: searcher)
    async with worker_with(tmp_path) as client:
        told = await problem_of(client, "/v1/views/zone_demand/evidence", **EVIDENCE)
    assert told == (503, "no-broker", "No broker answered what was asked within 0.3 s.")


async def test_evidence_of_brokers_that_cannot_be_asked_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Edge, "searcher", lambda *_: SimpleNamespace(rulings=cannot_be_asked))
    async with worker_with(tmp_path) as client:
        told = await problem_of(client, "/v1/views/zone_demand/evidence", **EVIDENCE)
    assert told == (503, "no-broker", "rides.yellow-0: no leader of it answers.")


async def test_results_of_brokers_that_say_nothing_say_so(tmp_path: Path) -> None:
    async def bounds(_: str) -> Any:
        return {0: 0}, {0: 3}

    for log in (SimpleNamespace(bounds=says_nothing), SimpleNamespace(bounds=bounds, read=says_nothing)):
        async with worker_with(tmp_path, results=log) as client:
            status, slug, _ = await problem_of(client, f"/v1/results/{RESULTS}")
        assert (status, slug) == (503, "no-broker")

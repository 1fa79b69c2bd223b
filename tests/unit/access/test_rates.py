"""A caller may ask so often; who asks more often waits, and nobody else does."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.base.access_settings import AccessSettings
from app.edge.http.entry import rates
from app.edge.http.entry.rates import Rates
from app.rides.views import ZONE_DEMAND
from tests.support.http import Client, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.floats(0, 3), max_size=60), st.integers(1, 5))
def test_in_no_time_are_more_answered_than_the_rate_and_one_second_more(pauses: list[float], per_second: int) -> None:
    clock = Clock()
    limited, answered = Rates(per_second, clock), list[float]()
    for pause in pauses:
        clock.now += pause
        if limited.taken("one") == 0:
            answered.append(clock.now)
    for first, begin in enumerate(answered):
        for last, end in enumerate(answered[first:], start=first):
            assert last - first + 1 <= per_second * (end - begin) + per_second + 1e-6


def test_who_waits_as_long_as_he_is_told_is_answered() -> None:
    clock = Clock()
    limited = Rates(2, clock)
    assert [limited.taken("one") for _ in range(2)] == [0, 0]
    wait_seconds = limited.taken("one")
    assert limited.taken("another") == 0
    clock.now += wait_seconds
    assert (wait_seconds, limited.taken("one")) == (0.5, 0)


def test_of_more_callers_than_can_be_kept_those_who_asked_last_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "MOST_CALLERS", 2)
    limited = Rates(1, Clock())
    assert [limited.taken(caller) for caller in "aabcc"] == [0, 1, 0, 0, 1]
    assert limited.taken("a") == 0


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with server_of(tmp_path, (ZONE_DEMAND,), access=AccessSettings(rate_per_second=0.001)) as start:
        yield await start(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 132))})]))


async def test_a_refusal_says_when_to_come_back(client: Client) -> None:
    assert (await client.get(ROWS)).status == 200
    refused = await client.get(ROWS)
    told = await refused.json()
    assert (refused.status, told["type"], told["retryable"]) == (429, "urn:flagfall:problem:too-often", True)
    assert "FLAGFALL_ACCESS_RATE_PER_SECOND" in told["detail"]
    seconds = int(refused.headers["Retry-After"])
    assert 900 < seconds <= 1000
    assert refused.headers["RateLimit"] == f'"caller";r=0;t={seconds}'
    assert refused.headers["RateLimit-Policy"] == '"caller";q=1;w=1000'


def test_keys_come_with_a_rate_and_machines_of_their_own_without(tmp_path: Path) -> None:
    assert AccessSettings().most_per_second == 0
    assert AccessSettings(keys_file=tmp_path / "keys.json").most_per_second == 500
    assert AccessSettings(keys_file=tmp_path / "keys.json", rate_per_second=0).most_per_second == 0


async def test_health_and_what_workers_ask_is_not_counted(client: Client) -> None:
    for path in ("/livez", "/readyz", "/v1/internal/views/zone_demand/parts?partition=0"):
        assert [(await client.get(path)).status for _ in range(3)] == [200, 200, 200]

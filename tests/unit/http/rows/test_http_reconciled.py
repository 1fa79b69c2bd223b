"""Rows say what the last reconciliation found of their view, and up to which window; and which worker answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.base.files.verdicts import LATEST, Checked, Finished, LastVerdicts, Verdict
from app.domain.view import View
from app.domain.windows.scope import Scope
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import Client, Serve, server_of, zone_table
from tests.support.material.stored.runs import NOON, verdicts_in, wrote
from tests.support.material.stored.tables import ready_directory, task_of

ROWS = "/v1/views/zone_demand/rows"
FINAL_TO_US = 1_706_702_400_000_000


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


async def client_of(serve: Serve) -> Client:
    return await serve(ready_directory([task_of(0, {ZONE_DEMAND: zone_table((0, 4))})], partitions=1))


def found(view: View = ZONE_DEMAND, verdict: Verdict = Verdict.MATCH, **more: Any) -> Finished:
    told = {"run_id": "night", "begun_at": NOON, "finished_at": NOON, "residual": 0, "reason": None, "report": "r"}
    return Finished(verdict=verdict, **{**told, "version": view.version, "final_to_us": FINAL_TO_US, **more})


async def told(client: Client, **query: str) -> Any:
    answer = await client.get(ROWS, params=query)
    assert answer.status == 200, await answer.text()
    return (await answer.json())["meta"]["reconciled"]


async def test_rows_say_what_the_last_run_found_and_up_to_where(serve: Serve, tmp_path: Path) -> None:
    client = await client_of(serve)
    assert await told(client) is None
    verdicts = verdicts_in(tmp_path)
    for run_id, verdict in (("first", Verdict.MISMATCH), ("second", Verdict.MATCH)):
        verdicts.write_finished({ZONE_DEMAND.name: found(verdict=verdict, run_id=run_id)})
        assert await told(client) == {
            "run": run_id,
            "verdict": verdict.value,
            "final_to": "2024-01-31T12:00:00Z",
            "windows": None,
        }


async def test_a_run_over_a_stretch_of_windows_says_over_which(serve: Serve, tmp_path: Path) -> None:
    client, verdicts = await client_of(serve), verdicts_in(tmp_path)
    verdicts.write_finished({ZONE_DEMAND.name: found(scope=Scope(FINAL_TO_US, None))})
    assert (await told(client))["windows"] == {"from": "2024-01-31T12:00:00Z", "to": None}
    verdicts.write_finished({ZONE_DEMAND.name: found(scope=Scope(FINAL_TO_US, None, "the night before"))})
    assert (await told(client))["windows"] is None


async def test_a_run_of_another_version_of_another_view_or_of_no_rows_is_not_told(serve: Serve, tmp_path: Path) -> None:
    client, verdicts = await client_of(serve), verdicts_in(tmp_path)
    others = (found(version="another"), found(final_to_us=None, verdict=Verdict.INVALID), found(version=None))
    for one in others:
        verdicts.write_finished({ZONE_DEMAND.name: one, VENDOR_TRIPS.name: found(VENDOR_TRIPS)})
        assert await told(client) is None


async def test_what_a_run_writes_of_the_views_it_compared_is_what_rows_tell(serve: Serve, tmp_path: Path) -> None:
    client = await client_of(serve)
    wrote(tmp_path, {ZONE_DEMAND: 3}, NOON)
    answer = await told(client)
    assert (answer["verdict"], answer["final_to"]) == ("MISMATCH", None)
    wrote(tmp_path, {}, NOON + timedelta(days=1), stopped=ZONE_DEMAND)
    assert await told(client) is None


async def test_a_file_that_makes_no_sense_is_told_once_and_hides_no_rows(
    serve: Serve, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client, verdicts = await client_of(serve), verdicts_in(tmp_path)
    verdicts.runs.mkdir(parents=True)
    (verdicts.runs / LATEST).write_text("{")
    for _ in range(3):
        assert await told(client) is None
    assert caplog.text.count("cannot be read") == 1


def test_verdicts_of_a_release_that_told_no_version_are_still_read(tmp_path: Path) -> None:
    verdicts = LastVerdicts(tmp_path, "flagfall")
    verdicts.write_finished({ZONE_DEMAND.name: found()})
    file = tmp_path / LATEST
    file.write_text(file.read_text().replace('"version"', '"of_later"').replace('"final_to_us"', '"of_later_too"'))
    one = verdicts.read()[ZONE_DEMAND.name]
    assert one == Checked(begun=one.begun, finished=found(version=None, final_to_us=None, cut_at=NOON))


@pytest.mark.parametrize("address", [ROWS, "/livez", "/v1/nowhere", "/", "/metrics"])
async def test_each_answer_names_the_worker_that_gave_it(serve: Serve, address: str) -> None:
    client = await client_of(serve)
    url = str(client.make_url("")).rstrip("/")
    assert (await client.get(address)).headers["Flagfall-Worker"] == url

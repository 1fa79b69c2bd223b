"""Runs of the reconciliation over HTTP: the list, each report, and nothing but what the trail names."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from app.base.files.trail import Trail
from spark_batch.findings.report import Report
from spark_batch.findings.written import RUN_FILES, write_report
from tests.support.http import Serve, one_task
from tests.support.material.stored.runs import REPORT_SCHEMA, verdicts_in
from tests.support.material.stored.sample_report import sample_report


def wrote(data_dir: Path, report: Report) -> Trail:
    """As a run leaves it."""
    runs = verdicts_in(data_dir).runs
    write_report(report, runs / report.run_id)
    trail = Trail(runs)
    trail.append(report.of_trail, RUN_FILES, data_dir / "audit.pem")
    return trail


async def test_runs_are_listed_newest_first_and_each_report_is_as_it_was_written(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    assert await (await client.get("/v1/reconciliation")).json() == {"data": []}
    for name in ("one", "two", "three"):
        wrote(tmp_path, replace(sample_report(), run_id=name))
    wrote(tmp_path, replace(sample_report(), run_id="four", application="another"))
    listed = (await (await client.get("/v1/reconciliation?limit=2")).json())["data"]
    assert [run["run_id"] for run in listed] == ["three", "two"]
    assert listed[0]["verdict"] == "MISMATCH"
    assert listed[0]["views"] == {"zone_demand": "MISMATCH", "vendor_trips": "MATCH", "fared_starts": "MISMATCH"}
    answer = await client.get(listed[1]["links"]["report"])
    assert answer.content_type == "application/json"
    assert await answer.json() == json.loads((tmp_path / "reconciliation" / "two" / "report.json").read_text())
    REPORT_SCHEMA.validate(await answer.json())


async def test_the_list_follows_its_schema(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    wrote(tmp_path, sample_report())
    document = await (await client.get("/openapi.json")).json()
    told = document["paths"]["/v1/reconciliation"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    schema = told | {"components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(await (await client.get("/v1/reconciliation")).json())


async def test_the_page_of_a_run_may_use_its_own_style_and_nothing_else(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    report = sample_report()
    wrote(tmp_path, report)
    answer = await client.get(f"/v1/reconciliation/{report.run_id}/page")
    assert answer.content_type == "text/html"
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert answer.headers["Cache-Control"] == "no-store"
    assert "JFK Airport" in await answer.text()


@pytest.mark.parametrize("run", ["nothing", "..", "%2e%2e", "..%2f..%2fetc", "latest.json", "four"])
async def test_what_is_no_run_of_this_application_is_not_there(serve: Serve, tmp_path: Path, run: str) -> None:
    client = await serve(one_task())
    wrote(tmp_path, replace(sample_report(), run_id="four", application="another"))
    for folder in (tmp_path, tmp_path / "reconciliation" / "nothing", tmp_path / "reconciliation" / "latest.json"):
        folder.mkdir(exist_ok=True)
        for name in RUN_FILES:
            (folder / name).write_text("of no run")
    for address in (f"/v1/reconciliation/{run}", f"/v1/reconciliation/{run}/page"):
        answer = await client.get(address)
        assert answer.status == 404, address


async def test_a_run_whose_files_are_gone_is_listed_and_says_so(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    report = sample_report()
    wrote(tmp_path, report)
    (tmp_path / "reconciliation" / report.run_id / "report.html").unlink()
    assert len((await (await client.get("/v1/reconciliation")).json())["data"]) == 1
    answer = await client.get(f"/v1/reconciliation/{report.run_id}/page")
    assert answer.status == 404
    assert "is not there any more" in (await answer.json(content_type=None))["detail"]


async def test_a_report_that_somebody_changed_is_not_given(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    report = sample_report()
    wrote(tmp_path, report)
    for name, address in zip(RUN_FILES, ("", "/page"), strict=True):
        (tmp_path / "reconciliation" / report.run_id / name).write_text("all is well")
        answer = await client.get(f"/v1/reconciliation/{report.run_id}{address}")
        assert (answer.status, "all is well" in await answer.text()) == (500, False)


async def test_a_trail_that_makes_no_sense_is_told_without_its_place(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    trail = wrote(tmp_path, sample_report())
    trail.file.write_text("{}\n")
    answer = await client.get("/v1/reconciliation")
    text = await answer.text()
    assert (answer.status, "flagfall audit verify" in text, str(tmp_path) in text) == (500, True, False)


async def test_the_first_page_leads_to_the_page_of_the_last_run(serve: Serve, tmp_path: Path) -> None:
    client = await serve(one_task())
    report = sample_report()
    wrote(tmp_path, report)
    verdicts = verdicts_in(tmp_path)
    verdicts.write_begun([view.view.name for view in report.views], report.begun)
    verdicts.write_finished(report.found([view.view for view in report.views]))
    text = await (await client.get("/")).text()
    assert f'<a href="/v1/reconciliation/{report.run_id}/page">report</a>' in text
    (verdicts.runs / "trail.jsonl").write_text("{}\n")
    assert ">report</a>" not in await (await client.get("/")).text()

"""What people and Prometheus look at: the page, the metrics, and the last verdicts on both."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from app.domain.rows import RowKey
from app.rides.questions import ROUTES, STREAKS
from app.rides.views import CLEANLINESS, VENDOR_TRIPS, ZONE_DEMAND
from tests.support.http import BY_BASE, NOON_US, Serve, one_task, server_of, zone_table
from tests.support.material.stored.runs import NOON, wrote
from tests.support.material.stored.tables import cells_of, ready_directory, task_of


async def test_metrics_tell_positions_rows_ledgers_and_the_last_verdicts(serve: Serve, tmp_path: Path) -> None:
    directory = one_task()
    directory.log_end = {("rides.yellow", 0): 105}
    client = await serve(directory)
    wrote(tmp_path, {ZONE_DEMAND: 0, VENDOR_TRIPS: 2}, NOON)
    wrote(tmp_path, {VENDOR_TRIPS: 0}, NOON + timedelta(days=1), ends=False)
    await client.get("/v1/views/zone_demand/rows")
    await client.get("/v1/views/zone_demand/rows?limit=0")
    text = await (await client.get("/metrics")).text()
    values = {
        (s.name, *sorted(s.labels.values())): s.value for f in text_string_to_metric_families(text) for s in f.samples
    }
    assert values["flagfall_position", "0", "rides.yellow"] == 100
    assert values["flagfall_lag_records", "0", "rides.yellow"] == 5
    assert values["flagfall_view_rows", "0", "zone_demand"] == 2
    assert values["flagfall_records_total", "0", "decoded", "rides.yellow"] == 100
    assert values["flagfall_worker_standing", "ready"] == 1
    assert values["flagfall_reconciliation_verdict", "MATCH", "zone_demand"] == 1
    assert values["flagfall_reconciliation_verdict", "MISMATCH", "vendor_trips"] == 1
    assert values["flagfall_reconciliation_residual_rows", "vendor_trips"] == 2
    begun = [
        values["flagfall_reconciliation_begun_timestamp_seconds", view] for view in ("zone_demand", "vendor_trips")
    ]
    finished = values["flagfall_reconciliation_finished_timestamp_seconds", "vendor_trips"]
    assert (begun, finished) == ([NOON.timestamp(), NOON.timestamp() + 86_400], NOON.timestamp() + 60)
    assert values["flagfall_reconciliation_cut_timestamp_seconds", "vendor_trips"] == NOON.timestamp()
    assert values["flagfall_http_request_duration_seconds_count", "/v1/views/{view}/rows", "200"] == 1
    assert values["flagfall_http_request_duration_seconds_count", "/v1/views/{view}/rows", "400"] == 1


async def test_metrics_tell_how_many_records_each_rule_holds_of(serve: Serve) -> None:
    rows = {RowKey(None, (vendor,)): cells_of(CLEANLINESS, seed) for vendor, seed in (("1", 1), (None, 2))}
    client = await serve(ready_directory([task_of(3, {ZONE_DEMAND: {}, VENDOR_TRIPS: {}, CLEANLINESS: rows})]))
    text = await (await client.get("/metrics")).text()
    told = {
        s.labels["rule"]: s.value
        for f in text_string_to_metric_families(text)
        for s in f.samples
        if s.name == "flagfall_unclean_records_total"
    }
    place = CLEANLINESS.cells.index("goes_far")
    assert told.keys() == {rule.name for rule in CLEANLINESS.source.rules}
    assert told["goes_far"] == sum(cells[place] for cells in rows.values())


async def test_a_verdict_that_makes_no_sense_is_shown_as_such(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "reconciliation").mkdir()
    (tmp_path / "reconciliation" / "latest.json").write_text("{")
    client = await serve(one_task())
    assert "UNREADABLE" in await (await client.get("/")).text()
    assert 'verdict="UNREADABLE"' in await (await client.get("/metrics")).text()


async def test_the_page_shows_the_last_verdict_with_its_date_and_that_a_later_run_has_not_ended(
    serve: Serve, tmp_path: Path
) -> None:
    client = await serve(one_task())
    assert "none yet" in await (await client.get("/")).text()
    wrote(tmp_path, {ZONE_DEMAND: 0, VENDOR_TRIPS: 0}, NOON)
    wrote(tmp_path, {VENDOR_TRIPS: 0}, NOON + timedelta(days=1), ends=False)
    text = await (await client.get("/")).text()
    assert '<div class="card good">\n      <dt>Last verdict</dt>\n      <dd>MATCH</dd>' in text
    assert "0 unexplained rows · 2026-01-05 12:01 UTC" in text
    assert "began 2026-01-06 12:00 UTC and has not ended" in text


async def test_the_page_shows_zone_names_positions_and_escapes_what_it_shows(serve: Serve) -> None:
    rows = {RowKey(NOON_US, ("<script>", 132)): cells_of(BY_BASE, 1)}
    tables = {ZONE_DEMAND: zone_table((0, 132)), BY_BASE: rows, VENDOR_TRIPS: {}}
    client = await serve(ready_directory([task_of(0, tables, next_offset=1234)]))
    answer = await client.get("/")
    text = await answer.text()
    assert answer.status == 200
    assert "JFK Airport" in text
    assert "1,234" in text
    assert "&lt;script&gt;" in text
    assert text.count("<script") == text.count('<script type="module" src="/static/city.js"></script>') == 1
    assert "style=" not in text


async def test_instants_are_told_as_instants_and_what_lies_between_as_a_length_of_time(tmp_path: Path) -> None:
    """Measures of all of them end with `_us`."""
    route = RowKey(NOON_US, (132, 161))
    streak = RowKey(NOON_US, (132,))
    at = {"count": 3, "latest_us": NOON_US + 61_000_000, "first_us": NOON_US, "last_us": NOON_US + 62_000_000}
    at["session_end_us"] = at["last_us"]
    views = {
        view: {key: tuple((dict.fromkeys(view.cells, 0) | {k: v for k, v in at.items() if k in view.cells}).values())}
        for view, key in ((ROUTES, route), (STREAKS, streak))
    }
    async with server_of(tmp_path, tuple(views)) as serve:
        client = await serve(ready_directory([task_of(0, views, watermark_us=NOON_US)]))
        text = await (await client.get("/")).text()
        told = (await (await client.get("/v1/views")).json())["data"]
    assert "latest, UTC</th>" in text
    assert all(f">2024-01-31 12:{of}</td>" in text for of in ("01:01", "00:00", "01:02"))
    assert " h " not in text
    units = {one["name"]: one["unit"] for view in told for one in (*view["measures"], *view["figures"])}
    assert units == {
        **{"rides": None, "latest_us": "instant", "total_cents": "cents", "duration_minutes": None},
        **{"mean_total_cents": "cents", "median_duration_us": "microseconds", "p95_duration_us": "microseconds"},
        **{"pickups": None, "first_us": "instant", "last_us": "instant", "length_us": "microseconds"},
    }

"""Windows that have left the tables are answered from what a reconciliation has kept, beside those that are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.base.settings import Settings
from app.domain.fingerprint import as_hex
from app.domain.oracle.view_fold import fold, together
from app.domain.records import as_integer
from app.domain.rows import COUNT_AT, FINGERPRINT_AT
from app.domain.windows.instants import to_iso
from app.edge.cli.records.sending import close_windows
from app.rides.generator.dirt import Dirt
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import ZONE_DEMAND
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import flagfall
from tests.support.machine.world import covers, ready_worker
from tests.support.truth import records_of

ROWS = f"/v1/views/{ZONE_DEMAND.name}/rows"


@pytest.mark.spark
def test_what_has_left_the_tables_is_answered_once_a_run_has_kept_it(world: Settings, tmp_path: Path) -> None:
    settings = world.model_copy(update={"history_dir": tmp_path / "history"})
    write_rides(settings, 0, 2_000, dirt=Dirt(late=0.01, stray_years=0, duplicates=0))
    rides = records_of(settings, RIDES)
    pickups_us = sorted(as_integer(ride.values["pickup_at_us"]) for ride in rides)
    with ready_worker(settings, tmp_path, "worker") as started:
        wait_for(lambda: covers(settings, started), "every ride is covered", [started])
        middle_us = pickups_us[len(pickups_us) // 2]
        close_windows(settings, SHIPPED.group("rides"), (middle_us + ZONE_DEMAND.retention_us) // 1000)
        wait_for(lambda: started.get(ROWS).json()["meta"]["left_before"], "windows have left", [started])
        asked = {"from": to_iso(ZONE_DEMAND.window.start(pickups_us[0])), "limit": 10_000}
        refused = started.get(ROWS, **asked)
        assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (404, "not-in-history")
        ran = flagfall(settings, "reconcile", "--worker", started.url, "--output", str(tmp_path / "runs"))
        assert ran.returncode == 0, ran.stderr
        (report,) = (tmp_path / "runs").glob("*/report.json")
        zones = json.loads(report.read_text())["views"][0]
        answered = started.get(ROWS, **asked)
        assert answered.status_code == 200, answered.text
        answer = answered.json()
    rows = answer["data"]
    whole = together(ZONE_DEMAND, fold(ZONE_DEMAND, rides).rows.values())
    found = {(row["window"]["start"], row["group"]["zone"]): (row["count"], row["fingerprint"]) for row in rows}
    assert len(found) == len(rows)
    assert found == {
        (to_iso(as_integer(key.window_start_us)), key.group[0]): (cells[COUNT_AT], as_hex(cells[FINGERPRINT_AT]))
        for key, cells in whole.items()
    }
    left_before = answer["meta"]["left_before"]
    assert zones["finals"]["compared"] == sum(row["source"] == "batch" for row in rows)
    assert zones["finals"]["compared"] + zones["rows"]["live"] >= len(rows)
    assert all((row["source"] == "batch") == (row["window"]["start"] < left_before) for row in rows)
    assert {row["source"] for row in rows} == {"batch", "live"}
    assert {row["final"] for row in rows} == {True}

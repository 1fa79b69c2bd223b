"""Real TLC files through the whole flow: the tables equal a plain fold, and the reconciliation says so."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from app.base import names
from app.base.settings import Settings
from app.rides.ride import RIDES
from app.rides.views import CLEANLINESS, VIEWS
from tests.support.expiry import kept
from tests.support.flow import ByTask, by_task, covers_all, exported, in_changelog
from tests.support.machine.cluster import fresh_topics
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import flagfall, workers
from tests.support.machine.world import log_ends_of, markers
from tests.support.truth import records_of

FILES = (
    "green/green_tripdata_2020-04.parquet",
    "fhv/fhv_tripdata_2020-04_sample1000.csv",
    "hvfhv/fhvhv_tripdata_2020-04_sample1000.csv",
    "yellow/yellow_tripdata_2009-01_sample3000.csv",
    "yellow/yellow_tripdata_2016-03_latlon_head.csv",
)
GREEN_THAT_LAST_A_DAY = 64
"""Rides of 23 hours and more in the first of the files, by whoever counted them there."""


def test_tables_of_real_rides_equal_a_plain_fold_and_the_verdict_is_match(
    services: Settings, real_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLAGFALL_CLEANLINESS", "true")
    views = (*VIEWS, CLEANLINESS)
    fresh_topics(services)
    replayed = flagfall(services, "replay", *(str(real_data / name) for name in FILES), "--json")
    assert replayed.returncode == 0, replayed.stderr
    summary = json.loads(replayed.stdout)
    with workers(services, tmp_path, 2) as started:
        wait_for(lambda: covers_all(services, started), "every ride is covered", started)
        wait_for(AtRest(services), "rows that nobody needs any more have left", started)
        records = records_of(services, RIDES)
        assert len(records) == summary["rides"]
        last = {p: markers(services, p)[-1] for p in range(services.topics.partitions)}
        stored = in_changelog(services, views)
        for view in views:
            expected = kept(view, by_task(view, records), last)
            assert exported(view, started) == expected
            assert stored[view.name] == expected
        assert odd(stored[CLEANLINESS.name], "lasts_a_day") >= GREEN_THAT_LAST_A_DAY
        verdict = flagfall(
            services, "reconcile", "--worker", started[0].url, "--output", str(tmp_path / "runs"), "--json"
        )
        assert verdict.returncode == 0, verdict.stdout + verdict.stderr
        report = json.loads(verdict.stdout)
        assert report["verdict"] == "MATCH"
        assert [told["view"] for told in report["views"]] == [view.name for view in views]


def odd(rows: ByTask, rule: str) -> int:
    """How many rides a rule holds of."""
    return sum(cells[CLEANLINESS.cells.index(rule)] for cells in rows.values())


class AtRest:
    """Whether nothing was written to the changelog since the last look, a second ago."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ends: dict[tuple[str, int], int] = {}

    def __call__(self) -> bool:
        threading.Event().wait(1.0)
        before = self._ends
        self._ends = log_ends_of(self._settings, [names.changelog_topic(self._settings.app_id, RIDES.name)])
        return before == self._ends

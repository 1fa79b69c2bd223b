"""The pages for who comes from elsewhere: what stands there runs, and its figures are those of a plain count of the
rides that it is about."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app.base.settings import Settings
from app.definitions.load import catalogue_of
from app.domain.source import SourceTopic
from app.rides.branches import AMOUNTS
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import HOUR_US, MINUTE_US, RIDES
from app.rides.zones import zones
from tests.support.machine.waiting import wait_for
from tests.support.machine.world import assert_exact, delete_topics
from tests.support.pages import course
from tests.support.pages.coming_from import Block, own, program
from tests.support.pages.tried import Tried, placed, tried
from tests.support.truth import cluster_of, log_ends, records_of

FEW_A_DAY = "flagfall generate --rides 14000 --rides-per-day 1500 --seed 8 --no-dirt"
"""So few that hardly two share a zone and an hour."""
PAGE_ROWS = 10_000
"""The most that a page of rows in JSON holds."""
BY_BOROUGH = 'flagfall sql --csv "SELECT zone_borough, sum(rides) FROM zone_demand GROUP BY ALL"'


@pytest.fixture
def trial(world: Settings, tmp_path: Path) -> Iterator[Tried]:
    """Topics that all tests share begin empty."""
    cluster = cluster_of(world.kafka)
    delete_topics(world, [*cluster.topic_names("amounts."), *cluster.topic_names("course")])
    with tried(world, tmp_path) as there:
        yield there
    delete_topics(world, cluster.topic_names("course"))


def rides_needed() -> pl.DataFrame:
    """Those that each page needs."""
    return Generator(7, dirt=Dirt.none()).rides(0, 2_000)


def test_what_is_declared_and_typed_there_tells_the_figures_of_the_rides(trial: Tried) -> None:
    in_shell(trial, FEW_A_DAY)
    rides = pl.concat([rides_needed(), Generator(8, dirt=Dirt.none(), rides_per_day=1_500).rides(0, 14_000)])
    trial.await_all_counted()
    assert_exact(trial.settings, [trial.worker], catalogue_of(trial.settings).views)
    assert_boroughs(trial, rides)
    for block in own("bash"):
        for line in block.text.splitlines() if block.page != "README" else ():
            (assert_right,) = (check for begins, check in CHECKS.items() if line.startswith(begins))
            assert_right(trial, line, rides)


def assert_boroughs(trial: Tried, rides: pl.DataFrame) -> None:
    """The program counts every ride, though its rows by the hour would not go on a page."""
    assert rides.select(pl.col("pickup_at_us") // HOUR_US, "pickup_zone").n_unique() > PAGE_ROWS
    told = Counter(zone and zones()[zone].borough for zone in rides["pickup_zone"])
    by_sql = list(csv.reader(in_shell(trial, BY_BOROUGH).splitlines()))[1:]
    assert {borough or None: int(count) for borough, count in by_sql} == told
    said = re.findall(r"^│ (\S.*?) +┆ (\d+) +│$", trial.typed(program("by_borough.py")), re.MULTILINE)
    assert {None if borough == "null" else borough: int(count) for borough, count in said} == told


def assert_table(trial: Tried, line: str, _: pl.DataFrame) -> None:
    """It shows the rows that programs are answered, all their groups and measures."""
    said = [[cell.strip() for cell in re.split("[│┃]", row)[1:-1]] for row in in_shell(trial, line).splitlines()]
    names, *shown = filter(None, said)
    rows = json.loads(in_shell(trial, f"{line} --json"))["data"]
    assert rows
    assert len(shown) == len(rows)
    for cells, row in zip(shown, rows, strict=True):
        values = row["group"] | {name: value for name, value in row["measures"].items() if name in names}
        expected = {name: "–" if value is None else str(value) for name, value in values.items()}
        assert expected.items() <= dict(zip(names, cells, strict=True)).items()


def assert_zones(trial: Tried, line: str, rides: pl.DataFrame) -> None:
    said = re.findall(r"^(.*\S) +(\d+)$", in_shell(trial, line), re.MULTILINE)
    told = Counter(zones()[zone].name if zone else "–" for zone in rides["pickup_zone"])
    assert [(name.strip(), int(count)) for name, count in said] == told.most_common(5)


def assert_changes(trial: Tried, line: str, _: pl.DataFrame) -> None:
    """The first event is the answer as it is."""
    asked = json.loads(in_shell(trial, "flagfall query zone_hours --limit 3 --json"))
    assert json.loads(in_shell(trial, line).removeprefix("data: "))["rows"] == asked["data"]


def assert_matched(trial: Tried, line: str, _: pl.DataFrame) -> None:
    assert in_shell(trial, line).split()[0] == "MATCH"


def assert_covered(trial: Tried, line: str, _: pl.DataFrame) -> None:
    """Of topics that were emptied, and so do not begin at offset 0."""
    assert f"{sum(log_ends(trial.settings, RIDES).values()):,} offsets covered, 0 behind" in in_shell(trial, line)


CHECKS: Mapping[str, Callable[[Tried, str, pl.DataFrame], None]] = {
    "flagfall query": assert_table,
    "flagfall sql": assert_zones,
    "flagfall reconcile": assert_matched,
    "flagfall status": assert_covered,
    "curl": assert_changes,
}


def in_shell(trial: Tried, line: str) -> str:
    return trial.typed(Block("test", "bash", line))


def test_the_programs_of_the_course_and_what_stands_beside_them_have_the_same_figures(trial: Tried) -> None:
    trial.typed(program("course_rides.py"))
    again = trial.refused(program("course_rides.py"))
    assert again.startswith("course.high, course.low, course.rides: there already, so nothing is sent."), again
    trial.await_all_counted()
    rides, settings = rides_needed(), trial.settings

    vendors = Counter(rides["vendor"])
    assert counted_in_faust(trial, "vendor_trips", course.trips_of_vendor) == vendors
    said = trial.typed(program("vendor_figures.py")).splitlines()
    assert said == [f"{vendor} {count}" for vendor, count in sorted(vendors.items())]
    assert trips(trial, "vendor_trips") == vendors
    assert trips(trial, "trips_of_vendor") == vendors

    cents = rides.select(pl.coalesce("total_cents", "fare_cents", 0)).to_series().sort()
    high, low = cents.filter(cents >= AMOUNTS.threshold).to_list(), cents.filter(cents < AMOUNTS.threshold).to_list()
    assert counted_in_faust(trial, "by_amount", course.amounts) == {"high": high, "low": low}
    assert sent_on(settings) == {AMOUNTS.high: high, AMOUNTS.low: low}
    said = trial.typed(program("amounts.py")).splitlines()
    dear, cheap = ((AMOUNTS.high, "course.high"), len(high)), ((AMOUNTS.low, "course.low"), len(low))
    assert said == [f"{topic} {count}" for topics, count in (dear, cheap) for topic in topics]

    minutes = Counter(zip(rides["vendor"], rides["pickup_at_us"] // MINUTE_US * 60, strict=True))
    assert counted_in_faust(trial, "vendor_minutes", course.trips_by_minute) == minutes
    said = trial.typed(program("minute_figures.py")).splitlines()
    newest = sorted(((minute, vendor, count) for (vendor, minute), count in minutes.items()), reverse=True)[:5]
    assert said == [f"{datetime.fromtimestamp(at, UTC).isoformat()} {vendor} {count}" for at, vendor, count in newest]
    assert {
        (row["group"]["vendor"], datetime.fromisoformat(row["window"]["start"]).timestamp()): row["measures"]["trips"]
        for row in trial.rows("vendor_by_minute")
    } == minutes


def trips(trial: Tried, view: str) -> dict[str, int]:
    return {row["group"]["vendor"]: row["measures"]["trips"] for row in trial.rows(view)}


def sent_on(settings: Settings) -> dict[str, list[int]]:
    """The amounts in each topic of the branch, in cents."""
    found: dict[str, list[Any]] = {}
    for topic in AMOUNTS.outputs:
        records = records_of(settings, replace(RIDES, topics=(SourceTopic(1, topic),)))
        told = ((record.values[column] for column in AMOUNTS.columns) for record in records)
        found[topic] = sorted(next((cents for cents in amounts if cents is not None), 0) for amounts in told)
    return found


def counted_in_faust(trial: Tried, module: str, figures: Callable[[Settings], course.Figures]) -> course.Figures:
    """What the program's figures are once it has had all rides."""
    text = placed(program(f"{module}.py").text, trial.settings, trial.worker.port)
    (trial.folder / f"{module}.py").write_text(text, "utf-8")
    with course.faust_worker(trial.settings, trial.folder, module) as started:
        wait_for(
            lambda: bool(started.broke()) or total(figures(trial.settings)) >= len(rides_needed()),
            f"{module} has had all rides",
            [started],
        )
        assert not started.broke(), started.log.read_text()
        return figures(trial.settings)


def total(figures: course.Figures) -> int:
    return sum(len(value) if isinstance(value, list) else value for value in figures.values())

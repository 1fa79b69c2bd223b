"""Every example of docs/questions.md, typed as it stands there, tells what Polars makes of the rides themselves."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.view import View
from app.domain.windows.durations import duration_us
from app.edge.cli.main import cli
from app.edge.cli.tables.query import command as query_command
from app.edge.http.query.instants import to_iso, to_us
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.questions import CARD_TIPS, PAYMENT_SESSIONS, QUESTIONS, ROUTES, STREAKS, VENDOR_MINUTES
from app.rides.ride import RIDES, SERVICES
from app.rides.views import ZONE_DEMAND
from tests.support.http import Serve, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of

PAGE = Path(__file__).parents[2] / "docs/questions.md"
EXAMPLES = re.findall(r"^ {4}flagfall query (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
VIEWS = (ZONE_DEMAND, *QUESTIONS)
TASKS, LIMIT = 2, 100
COLUMNS = [*(column.name for column in RIDES.columns), "service", "clock_ms"]
BY = dict.fromkeys((ZONE_DEMAND, VENDOR_MINUTES, STREAKS), "pickup_at_us") | dict.fromkeys(
    (ROUTES, CARD_TIPS, PAYMENT_SESSIONS), "dropoff_at_us"
)
GAPS_US = {STREAKS: 300_000_000, PAYMENT_SESSIONS: 60_000_000}


def _ratio(over: str, per: str) -> pl.Expr:
    """Of two sums; null over nothing."""
    return pl.when(pl.col(per).sum() != 0).then(pl.col(over).sum() / pl.col(per).sum())


def _quantile(percent: int) -> pl.Expr:
    """The value by which so many percent are reached."""
    durations = pl.col("duration_us").drop_nulls()
    return durations.sort().get((percent * durations.len() + 99) // 100 - 1, null_on_oob=True)


MEASURES = {
    "rides": pl.len(),
    "trips": pl.len(),
    "pickups": pl.len(),
    "first_us": pl.col("pickup_at_us").min(),
    "last_us": pl.col("pickup_at_us").max(),
    "length_us": pl.col("pickup_at_us").max() - pl.col("pickup_at_us").min(),
    "tip_cents": pl.col("tip_cents").sum(),
    "fare_cents": pl.col("fare_cents").sum(),
    "total_cents": pl.col("total_cents").sum(),
    "total_cents_values": pl.col("total_cents").count(),
    "latest_us": pl.col("dropoff_at_us").max(),
    "tip_rate": _ratio("tip_cents", "fare_cents"),
    "fare_per_mile_cents": 100 * _ratio("fare_cents", "distance_hundredth_miles"),
    "median_us": _quantile(50),
    "p95_us": _quantile(95),
}


@pytest.fixture(scope="module")
def rides() -> pl.DataFrame:
    """A few hours of clean rides, with the partition of each."""
    made = Generator(5, rides_per_day=40_000, dirt=Dirt.none()).rides(0, 8_000).select(COLUMNS)
    return made.with_row_index().with_columns(
        (pl.col("index") % TASKS).cast(pl.Int64).alias("partition"),
        (pl.col("dropoff_at_us") - pl.col("pickup_at_us")).alias("duration_us"),
    )


@pytest.fixture(scope="module")
def directory(rides: pl.DataFrame) -> Any:
    """A worker that holds what the naive fold makes of them."""
    ends: dict[tuple[str, int], int] = {}
    records = []
    for ride in rides.iter_rows(named=True):
        at = SERVICES[ride["service"]], ride["partition"]
        ends[at] = ends.get(at, 0) + 1
        values = {column.name: ride[column.name] for column in RIDES.columns}
        records.append(Record(*at, ends[at] - 1, ride["clock_ms"], values))
    folded = {view: fold(view, records) for view in VIEWS}
    assert [len(of_view.late) + len(of_view.quarantined) for of_view in folded.values()] == [0] * len(VIEWS)
    as_of_us = min(folded[ZONE_DEMAND].watermarks.values())
    tables = [{view: found.rows[task] for view, found in folded.items()} for task in range(TASKS)]
    return ready_directory([task_of(task, rows, watermark_us=as_of_us) for task, rows in enumerate(tables)])


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, VIEWS) as start:
        yield start


@pytest.mark.parametrize("example", EXAMPLES)
async def test_an_example_tells_what_the_rides_say(
    serve: Serve, directory: Any, rides: pl.DataFrame, example: str
) -> None:
    url = url_of(await serve(directory))
    typed = ["query", *shlex.split(example), "--worker", url, "--json"]
    ran = await asyncio.to_thread(CliRunner().invoke, cli, typed, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.output)
    wanted = expected(example, rides, min(to_us(w) for w in answer["meta"]["watermark"].values()))
    assert len(answer["data"]) == len(wanted) > 0
    for told, (window_us, row) in zip(answer["data"], wanted, strict=True):
        assert told["window"]["start"] == to_iso(window_us)
        compare(told, row)


def test_the_page_has_examples_for_every_view_that_it_speaks_of() -> None:
    assert {example.split()[0] for example in EXAMPLES} == {view.name for view in VIEWS}


def expected(example: str, rides: pl.DataFrame, as_of_us: int) -> list[tuple[int, dict[str, Any]]]:
    """Windows and rows, in order, as Polars has them."""
    asked = options(example)
    view = next(view for view in VIEWS if view.name == asked["view"])
    columns, at = {group.name: group.column for group in view.groups}, BY[view]
    if view in GAPS_US:
        rides = in_sessions(rides, at, list(columns.values()), GAPS_US[view])
    pane_us = panes.size_us if (panes := view.window.panes) else 1
    size_us = duration_us(asked["window"] or asked["last"]) if asked["window"] or asked["last"] else pane_us
    until_us = as_of_us // pane_us * pane_us
    begins = pl.col("session") if view in GAPS_US else pl.col(at) // size_us * size_us
    if asked["last"]:
        rides = rides.filter(pl.col(at).is_between(until_us - size_us, until_us, closed="left"))
        begins = pl.lit(until_us - size_us)
    given = [("zone", zone) for zone in asked["zones"]] + [tuple(group.split("=")) for group in asked["groups"]]
    for name in {name for name, _ in given}:
        rides = rides.filter(pl.col(columns[name]).is_in([int(value) for n, value in given if n == name]))
    kept = [name for name in columns if not asked["group_by"] or name in asked["group_by"]]
    keys = [begins.alias("window"), *(pl.col(columns[name]).alias(name) for name in kept)]
    rows = rides.filter(pl.col(at).is_not_null()).group_by(keys).agg(**known(view))
    return [(row.pop("window"), row) for row in arranged(rows, asked, kept).to_dicts()]


def in_sessions(rides: pl.DataFrame, at: str, groups: list[str], gap_us: int) -> pl.DataFrame:
    """Where the session of each ride begins."""
    placed = rides.filter(pl.col(at).is_not_null()).sort([*groups, at])
    begins = pl.when((pl.col(at).diff() > gap_us).over(groups).fill_null(True)).then(pl.col(at))
    return placed.with_columns(begins.alias("session")).with_columns(pl.col("session").forward_fill().over(groups))


def known(view: View) -> dict[str, pl.Expr]:
    """What the view tells, as far as this test knows how it is made."""
    shown = {shown.name for shown in view.shown} | {figure.name for figure in view.figures}
    bins = {"median_us", "p95_us"} if "median_duration_us" in shown else set()
    return {name: made for name, made in MEASURES.items() if name in shown | bins} | {"count": pl.len()}


def arranged(rows: pl.DataFrame, asked: dict[str, Any], kept: list[str]) -> pl.DataFrame:
    """In the order asked for, the highest of each window or of all."""
    newest = asked["newest"]
    ordered = rows.sort(["window", *kept], descending=[newest] * (1 + len(kept)), nulls_last=newest)
    if asked["top"]:
        latest = ["latest_us"] if "latest_us" in rows.columns else []
        highest = [asked["by"], "count", *latest]
        ordered = ordered.sort(highest, descending=True, nulls_last=True, maintain_order=True)
        if asked["among"] == "group":
            ordered = ordered.sort(kept, maintain_order=True).group_by(kept, maintain_order=True).head(asked["top"])
        elif asked["among"] == "all" or asked["view"] in {view.name for view in GAPS_US}:
            ordered = ordered.head(asked["top"])
        else:
            ordered = (
                ordered.sort("window", maintain_order=True).group_by("window", maintain_order=True).head(asked["top"])
            )
    return ordered.head(asked["limit"] or LIMIT)


def options(example: str) -> dict[str, Any]:
    """What the command line takes out of an example."""
    return query_command.make_context("query", shlex.split(example), resilient_parsing=False).params


def compare(told: dict[str, Any], row: dict[str, Any]) -> None:
    """What is told of a row equals what is known of it."""
    values = told["measures"] | told.get("figures", {}) | {"count": told["count"]}
    groups = {name: told["group"][name] for name in row if name in told["group"]}
    assert groups == {name: row[name] for name in groups}
    for name in values.keys() & row.keys():
        assert values[name] == (pytest.approx(row[name]) if isinstance(row[name], float) else row[name]), name
    for name, of in (("median_duration_us", "median_us"), ("p95_duration_us", "p95_us")):
        if name in values and of in row:
            low, high = values[name]["from"], values[name]["to"]
            assert low is None or low <= row[of]
            assert high is None or row[of] < high

"""Every example of docs/questions.md about rides, typed as it stands there, tells what Polars makes of the rides."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.questions import QUESTIONS
from app.rides.ride import RIDES, SERVICES
from app.rides.views import ZONE_DEMAND
from tests.streaming.questions.answers import EXAMPLES, assert_tells, examples_of
from tests.support.http import Serve, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of

VIEWS = (ZONE_DEMAND, *QUESTIONS)
TASKS = 2
COLUMNS = [*(column.name for column in RIDES.columns), "service", "clock_ms"]
MEASURES = {
    "rides": pl.len(),
    "trips": pl.len(),
    "pickups": pl.len(),
    "first_us": pl.col("pickup_at_us").min(),
    "last_us": pl.col("pickup_at_us").max(),
    "length_us": pl.col("pickup_at_us").max() - pl.col("pickup_at_us").min(),
    "latest_us": pl.col("dropoff_at_us").max(),
    "fare_per_mile_cents": pl.when(pl.col("distance_hundredth_miles").sum() != 0).then(
        100 * pl.col("fare_cents").sum() / pl.col("distance_hundredth_miles").sum()
    ),
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


@pytest.mark.parametrize("example", examples_of(*VIEWS))
async def test_an_example_tells_what_the_rides_say(
    serve: Serve, directory: Any, rides: pl.DataFrame, example: str
) -> None:
    view = next(view for view in VIEWS if view.name == example.split(maxsplit=1)[0])
    await assert_tells(url_of(await serve(directory)), example, view, rides, MEASURES)


def test_the_page_has_examples_for_every_view_over_rides() -> None:
    assert {example.split()[0] for example in EXAMPLES} >= {view.name for view in VIEWS}

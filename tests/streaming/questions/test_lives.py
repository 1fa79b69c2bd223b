"""Every example of docs/questions.md about taxis and drivers tells what Polars makes of starts, ends and fares."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import product
from pathlib import Path
from typing import NamedTuple, cast

import polars as pl
import pytest

from app.domain.rows import Cells, RowKey
from app.domain.source import Source
from app.domain.view import View
from app.rides.lifecycle.dirt import LifecycleDirt
from app.rides.lifecycle.lifecycle import Lifecycle
from app.rides.lifecycle.pairing import FARED, FARED_STARTS
from app.rides.lifecycle.questions import DRIVER_HOURS, PAID_FARES, SHIFTS, TAXIS
from app.rides.lifecycle.sources import END, FARES, RIDE_EVENTS, START
from app.rides.zones import zones
from app.testkit.harness import Harness
from tests.streaming.questions.answers import EXAMPLES, STATEMENTS, answered, assert_tells, examples_of
from tests.support.http import Serve, server_of, url_of
from tests.support.material.stored.tables import ready_directory, task_of

VIEWS = (TAXIS, SHIFTS, DRIVER_HOURS, PAID_FARES)
TASKS = 2
SECOND_US = 1_000_000
LATEST = pl.col("happened_at_us").arg_max()
MEASURES = {
    "events": pl.len(),
    "last_us": pl.col("happened_at_us").max(),
    "first_us": pl.col("happened_at_us").min(),
    "length_us": pl.col("happened_at_us").max() - pl.col("happened_at_us").min(),
    "is_empty": (pl.col("kind") == END).cast(pl.Int64).get(LATEST),
    "is_nowhere": pl.col("zone").is_null().cast(pl.Int64).get(LATEST),
}
RIDES = {RIDE_EVENTS: (pl.col("kind") == START).sum(), FARED: pl.len()}


class Lives(NamedTuple):
    """Records of clean lives as views over a source read them, and the rows of all views by task."""

    records: dict[str, pl.DataFrame]
    rows: list[dict[View, dict[RowKey, Cells]]]


@pytest.fixture(scope="module")
def lives() -> Lives:
    block = Lifecycle(5, rides_per_day=20_000, dirt=LifecycleDirt.none()).block(0, 4_000)
    kit = Harness(views=[TAXIS, SHIFTS], joins=[FARED_STARTS], partitions=TASKS)
    for source, frame in zip((RIDE_EVENTS, FARES), block, strict=True):
        send(kit, source, frame.drop("clock_ms"))
    latest_us = max(kit.watermark_us(source.topics[0].name) for source in (RIDE_EVENTS, FARES))
    for source, partition in product((RIDE_EVENTS, FARES), range(TASKS)):
        kit.advance_watermark(source.topics[0].name, latest_us + FARED_STARTS.waits_us, partition=partition)
    of_fares = Harness(views=[DRIVER_HOURS, PAID_FARES], partitions=TASKS)
    send(of_fares, FARED, pl.DataFrame(kit.joined(FARED_STARTS), infer_schema_length=None))
    assert [kit.late, kit.quarantined, of_fares.late, of_fares.quarantined] == [[], [], [], []]
    rows = [
        {view: (kit if view.source is RIDE_EVENTS else of_fares).cells(view, partition=task) for view in VIEWS}
        for task in range(TASKS)
    ]
    return Lives({RIDE_EVENTS.name: block.events, FARED.name: fared(*block)}, rows)


def send(kit: Harness, source: Source, frame: pl.DataFrame) -> None:
    """Its records, all of a ride in one partition, in the order of what they report."""
    of_task = frame["ride_id"].hash(0) % TASKS
    for task in range(TASKS):
        records = frame.filter(of_task == task).sort(source.reported_at, maintain_order=True)
        kit.send_all(source.topics[0].name, records.to_dicts(), partition=task)


def fared(events: pl.DataFrame, fares: pl.DataFrame) -> pl.DataFrame:
    """Each start with what was paid for it, if anything was."""
    starts = events.filter(pl.col("kind") == START).rename({"happened_at_us": "started_at_us"})
    paid = fares.select("ride_id", "fare_cents", "tip_cents", "total_cents", "paid_at_us")
    both = starts.join(paid, on="ride_id", how="left")
    return both.with_columns((pl.col("fare_cents") + pl.col("tip_cents")).alias("paid_cents"))


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path, VIEWS) as start:
        yield start


@pytest.mark.parametrize("example", examples_of(*VIEWS))
async def test_an_example_tells_what_the_lives_say(serve: Serve, lives: Lives, example: str) -> None:
    directory = ready_directory([task_of(task, rows) for task, rows in enumerate(lives.rows)])
    view = next(view for view in VIEWS if view.name == example.split(maxsplit=1)[0])
    known = MEASURES | {"rides": RIDES[view.source]}
    await assert_tells(url_of(await serve(directory)), example, view, lives.records[view.source.name], known)


@pytest.fixture
async def url_at(serve: Serve, lives: Lives) -> tuple[str, int]:
    """A worker, and its lowest watermark, while rides were still under way."""
    as_of_us = cast(int, lives.records[FARED.name]["started_at_us"].max())
    tasks = [
        task_of(task, rows, watermark_us=as_of_us + task, sources=(RIDE_EVENTS, FARED))
        for task, rows in enumerate(lives.rows)
    ]
    return url_of(await serve(ready_directory(tasks))), as_of_us


async def test_empty_taxis_by_zone_are_those_of_the_lives(url_at: tuple[str, int], lives: Lives) -> None:
    url, as_of_us = url_at
    told = await answered(url, STATEMENTS[0])
    wanted = standing(lives, as_of_us).select("zone", named("zone").alias("name"), "empty_taxis")
    assert told == wanted.sort("empty_taxis", "zone", descending=[True, False]).head(10).to_dicts() != []


async def test_the_most_profitable_zones_are_those_of_the_lives(url_at: tuple[str, int], lives: Lives) -> None:
    url, as_of_us = url_at
    told = await answered(url, STATEMENTS[1])
    minute_us = pl.col("paid_at_us") // (60 * SECOND_US) * (60 * SECOND_US)
    is_recent = (minute_us >= as_of_us - 15 * 60 * SECOND_US) & (minute_us + 60 * SECOND_US <= as_of_us)
    fared = lives.records[FARED.name].filter(pl.col("paid_cents").is_not_null(), pl.col("zone").is_not_null())
    paid = fared.filter(is_recent)
    assert fared.filter(minute_us + 60 * SECOND_US > as_of_us).height > 0  # some were paid since
    median_cents = pl.col("paid_cents").median().alias("median_cents")
    medians = paid.group_by("zone").agg(median_cents)
    both = medians.join(standing(lives, as_of_us), on="zone").with_columns(named("zone").alias("name"))
    wanted = both.with_columns((pl.col("median_cents") / pl.col("empty_taxis")).alias("profitability"))
    assert told == wanted.sort("profitability", "zone", descending=[True, False]).head(10).to_dicts() != []


def standing(lives: Lives, as_of_us: int) -> pl.DataFrame:
    """Taxis by the zone in which each ended a ride within half an hour, and began none since."""
    latest = lives.records[RIDE_EVENTS.name].sort("happened_at_us").group_by("taxi_id").last()
    empty = latest.filter(
        pl.col("kind") == END,
        pl.col("zone").is_not_null(),
        pl.col("happened_at_us") > as_of_us - 30 * 60 * SECOND_US,
    )
    return empty.group_by("zone").agg(pl.len().alias("empty_taxis"))


def named(zone: str) -> pl.Expr:
    """By the name that statements know it by."""
    return pl.col(zone).replace_strict({number: zone.name for number, zone in zones().items()})


def test_the_page_has_examples_for_every_view_over_lives() -> None:
    assert {example.split()[0] for example in EXAMPLES} >= {view.name for view in VIEWS}

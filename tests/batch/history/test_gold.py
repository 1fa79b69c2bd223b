"""Gold: what changed is written, by the day; what a view no longer covers stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.rides.views import ZONE_DEMAND
from spark_batch.layers.gold import DAY_US, GoldTable
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.row_frames import row_schema

NOON_US = 20_000 * DAY_US + DAY_US // 2
TOPICS = [topic.name for topic in ZONE_DEMAND.source.topics]

Rows = dict[tuple[int, int, int], int]
"""How many rides, by task, window and zone."""


class Nights:
    """Runs over rows that are given by hand."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.count = 0

    @property
    def table(self) -> GoldTable:
        return GoldTable(self._spark, self._folder, ZONE_DEMAND)

    def run(self, rows: Rows, closed_to_us: int, *, start: int = 0) -> None:
        """Tasks 0 and 1 have closed windows up to there, and cover what stands at `start` and above."""
        watermark_us = NO_WATERMARK if closed_to_us == NO_WATERMARK else closed_to_us + ZONE_DEMAND.grace_us
        inputs = {topic: InputPosition("id", 0, 100, watermark_us) for topic in TOPICS}
        position = ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version, start=dict.fromkeys(TOPICS, start))
        markers = [Marker("app", 1, task, 1, inputs, {ZONE_DEMAND.name: position}) for task in range(2)]
        neutral = ZONE_DEMAND.neutral[1:]
        told = [(*key, count, *neutral) for key, count in rows.items()]
        made = self._spark.createDataFrame(told, row_schema(ZONE_DEMAND))
        self.count += 1
        cuts = [TaskCut.of(ZONE_DEMAND, marker.partition, marker, 0) for marker in markers]
        self.table.keep(cuts, made, f"run {self.count}")

    @property
    def rows(self) -> dict[tuple[int, int], int]:
        """How many rides, by window and zone."""
        found = self.table.rows().collect()
        assert len({(row["window_start_us"], row["zone"]) for row in found}) == len(found)
        return {(row["window_start_us"], row["zone"]): row["count"] for row in found}

    def files_of(self, day: str) -> set[str]:
        """Those that are live."""
        return {name for name in self.table.rows().inputFiles() if f"window_day={day}" in name}


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path) -> Nights:
    return Nights(spark, tmp_path)


def test_days_whose_rows_have_changed_are_written_and_others_are_left_alone(nights: Nights) -> None:
    first = {(0, NOON_US, 4): 3, (1, NOON_US, 4): 2, (0, NOON_US, 7): 1}
    nights.run(first, NOON_US + DAY_US)
    assert nights.rows == {(NOON_US, 4): 5, (NOON_US, 7): 1}
    before = nights.files_of("2024-10-04")
    assert before

    second = {**first, (1, NOON_US + DAY_US, 4): 9, (1, NOON_US + 9 * DAY_US, 4): 1}
    nights.run(second, NOON_US + 2 * DAY_US)
    assert nights.rows == {(NOON_US, 4): 5, (NOON_US, 7): 1, (NOON_US + DAY_US, 4): 9}
    assert nights.files_of("2024-10-04") == before

    nights.run(second, NOON_US + 3 * DAY_US)
    assert (nights.table.told["run"], nights.table.told["final_to_us"]) == ("run 3", NOON_US + 3 * DAY_US)

    nights.run({**second, (0, NOON_US, 7): 2}, NOON_US + 3 * DAY_US)
    assert nights.rows == {(NOON_US, 4): 5, (NOON_US, 7): 2, (NOON_US + DAY_US, 4): 9}
    assert not nights.files_of("2024-10-04") & before


def test_rows_that_are_gone_leave_with_their_day(nights: Nights) -> None:
    nights.run({(0, NOON_US, 4): 3, (0, NOON_US + DAY_US, 4): 1}, NOON_US + 2 * DAY_US)
    nights.run({(0, NOON_US + DAY_US, 4): 1}, NOON_US + 2 * DAY_US)
    assert nights.rows == {(NOON_US + DAY_US, 4): 1}


@pytest.mark.parametrize("closed_to_us", [NO_WATERMARK, NOON_US])
def test_a_run_that_knows_less_writes_nothing(nights: Nights, closed_to_us: int) -> None:
    nights.run({(0, NOON_US, 4): 3}, NOON_US + DAY_US)
    nights.run({}, closed_to_us)
    assert nights.rows == {(NOON_US, 4): 3}
    assert nights.table.told["run"] == "run 1"


def test_what_a_view_no_longer_covers_stays(nights: Nights) -> None:
    """It was rebuilt of what was left of its topics; in the window that was open then, of the records that are left."""
    later_us = NOON_US + DAY_US
    nights.run({(0, NOON_US, 4): 3, (0, later_us, 4): 5}, later_us)
    for closed_to_us in (later_us + DAY_US, later_us + 2 * DAY_US):
        nights.run({(0, later_us, 4): 2, (0, later_us, 9): 1}, closed_to_us, start=50)
        assert nights.rows == {(NOON_US, 4): 3, (later_us, 4): 2, (later_us, 9): 1}

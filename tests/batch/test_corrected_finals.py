"""Finals of rows that were corrected: compared once nothing can publish them again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import DataFrame, SparkSession

from app.domain.difference import DifferenceKind
from app.domain.rows import Cells
from app.domain.view import View
from app.domain.windows.hopping import Hopping
from app.rides.views import ZONE_DEMAND
from spark_batch.published.compared import CorrectedFinals, compare_finals
from spark_batch.published.reach import settled_to_us
from spark_batch.published.topics import PublishedFinals
from spark_batch.stored.row_frames import cell_columns

SIZE_US, DAY_US = 300_000_000, 86_400_000_000
TO_US = 100 * SIZE_US
ZONE = 132
RIGHT, WRONG, TWICE, LOST = 10, 20, 30, 40
"""Windows, by what was published of them."""


def test_a_corrected_final_that_differs_counts_once_it_is_published_for_good(spark: SparkSession) -> None:
    ended_us = [(at + 1) * SIZE_US for at in (RIGHT, WRONG, TWICE, LOST)]
    found = {settled_us: compared(spark, settled_us) for settled_us in (None, *ended_us)}
    named = {at: [(one.key.window_start_us, one.kind) for one in one.differences] for at, one in found.items()}
    wrong = [
        (WRONG * SIZE_US, DifferenceKind.ALTERED),
        (TWICE * SIZE_US, DifferenceKind.DOUBLED),
        (LOST * SIZE_US, DifferenceKind.LOST),
    ]
    assert named == {None: [], **{at: wrong[:count] for count, at in enumerate(ended_us)}}
    assert {at: one.corrected for at, one in found.items()} == {
        None: 3,
        **{at: 3 - count for count, at in enumerate(ended_us)},
    }


@pytest.mark.parametrize(
    ("window", "revisable", "settled_us"),
    [
        (ZONE_DEMAND.window, DAY_US, TO_US - DAY_US),
        (ZONE_DEMAND.window, DAY_US - 1_000_000, None),
        (Hopping("pickup_at_us", 600, 300), DAY_US, None),
    ],
)
def test_finals_are_settled_when_no_task_has_their_rows_any_more(
    window: object, revisable: int, settled_us: int | None
) -> None:
    view = replace(
        ZONE_DEMAND, window=window, retention_seconds=DAY_US // 1_000_000, revisable_seconds=revisable // 1_000_000
    )
    assert settled_to_us(view, TO_US) == settled_us


def compared(spark: SparkSession, settled_us: int | None) -> object:
    view = ZONE_DEMAND
    cells = {at: (at, *view.neutral[1:]) for at in (RIGHT, WRONG, TWICE, LOST)}
    published = [(RIGHT, cells[RIGHT]), (WRONG, cells[RIGHT]), (TWICE, cells[TWICE]), (TWICE, cells[RIGHT])]
    keys = spark.createDataFrame([(at * SIZE_US, ZONE) for at in cells], "window_start_us long, group_0 long")
    told = PublishedFinals(_published(spark, published), is_whole=True)
    return compare_finals(view, _due(spark, view, cells), told, CorrectedFinals(keys, settled_us), TO_US)


def _due(spark: SparkSession, view: View, cells: dict[int, Cells]) -> DataFrame:
    rows = [(at * SIZE_US, (at + 1) * SIZE_US, ZONE, *row) for at, row in cells.items()]
    names = ("window_start_us", "window_end_us", "group_0", *cell_columns(view))
    return spark.createDataFrame(rows, ", ".join(f"{name} long" for name in names))


def _published(spark: SparkSession, finals: list[tuple[int, Cells]]) -> DataFrame:
    rows = [
        ("finals", 0, offset, offset, at * SIZE_US, (at + 1) * SIZE_US, 0, list(cells), ZONE)
        for offset, (at, cells) in enumerate(finals)
    ]
    schema = "topic string, partition int, offset long, timestamp_ms long, window_start_us long, window_end_us long"
    return spark.createDataFrame(rows, f"{schema}, revision int, cells array<long>, group_0 long")

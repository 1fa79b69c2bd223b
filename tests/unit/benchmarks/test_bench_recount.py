"""The benchmark's data sets, and the comparison that a figure must pass before it counts."""

from __future__ import annotations

import polars as pl
import pytest

from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.rides.ride import RIDE_COLUMNS
from benchmarks.stream.data_sets import DATA_SETS, PARTITIONS, TOPIC, ends, partition_of
from benchmarks.stream.recount import PARTITION, NotComparable, RowsDiffer, recount, require_equal
from benchmarks.stream.views import BENCHED, FIVE, LINES

pytestmark = pytest.mark.unit

FEW = 3_000
MANY = 300_000


@pytest.fixture(scope="module")
def placed() -> pl.DataFrame:
    return DATA_SETS["sparse"].placed(FEW)


def records() -> list[Record]:
    """The same rides as the oracle takes them."""
    (frame,) = DATA_SETS["sparse"].frames(FEW)
    next_offset = dict.fromkeys(range(PARTITIONS), 0)
    made = []
    for ride in frame.to_dicts():
        partition = partition_of(ride["pickup_zone"] or 264)
        values = {column.name: ride[column.name] for column in RIDE_COLUMNS}
        made.append(Record(TOPIC.name, partition, next_offset[partition], ride["clock_ms"], values))
        next_offset[partition] += 1
    return made


@pytest.mark.parametrize("view", [*FIVE, *LINES["zone_demand"]], ids=lambda view: view.name)
def test_the_recount_gives_what_the_oracle_gives(view, placed: pl.DataFrame) -> None:
    folded = fold(view, records())
    assert not folded.late
    assert not folded.quarantined
    expected = {
        (partition, *([key.window_start_us] if view.window.ends else []), *key.group, *cells)
        for partition, rows in folded.rows.items()
        for key, cells in rows.items()
    }
    assert set(recount(view, placed).rows()) == expected


@pytest.mark.parametrize(("name", "least", "most"), [("sparse", 0.45, 0.55), ("dense", 0.09, 0.13)])
def test_a_data_set_has_the_rows_per_ride_that_its_name_promises(name: str, least: float, most: float) -> None:
    """Half a row a ride, and a tenth."""
    assert least < recount(BENCHED, DATA_SETS[name].placed(MANY)).height / MANY < most


def test_a_ride_lies_where_a_java_producer_would_put_it() -> None:
    """Murmur2 of the key's text, modulo four: values that Kafka's own Utils.murmur2 gives."""
    assert [partition_of(zone) for zone in (1, 132, 138, 161, 237, 264)] == EXPECTED_PARTITIONS


EXPECTED_PARTITIONS = [3, 1, 0, 2, 0, 1]


def test_offsets_of_a_partition_follow_one_another_in_the_order_of_sending(placed: pl.DataFrame) -> None:
    for (partition,), rides in placed.group_by("partition"):
        assert rides.sort("offset")["offset"].to_list() == list(range(ends(placed)[partition]))
    assert sum(ends(placed).values()) == FEW


def test_a_prefix_of_the_rides_is_a_prefix_of_every_partition(placed: pl.DataFrame) -> None:
    prefix = placed.head(FEW // 3)
    for partition, end in ends(prefix).items():
        assert prefix.filter(pl.col("partition") == partition)["offset"].max() == end - 1


def test_a_late_ride_makes_a_data_set_unusable(placed: pl.DataFrame) -> None:
    late = placed.with_columns(watermark_us=pl.col("watermark_us") + 10**12)
    with pytest.raises(NotComparable, match="late"):
        recount(BENCHED, late)


def test_equal_rows_pass_in_any_order(placed: pl.DataFrame) -> None:
    rows = recount(BENCHED, placed)
    require_equal(rows.reverse().select(reversed(rows.columns)), rows)


@pytest.mark.parametrize("cell", BENCHED.cells)
def test_one_more_in_one_cell_of_one_row_is_seen(cell: str, placed: pl.DataFrame) -> None:
    rows = recount(BENCHED, placed)
    wrong = rows.with_columns(pl.when(pl.int_range(pl.len()) == 7).then(pl.col(cell) + 1).otherwise(cell).alias(cell))
    with pytest.raises(RowsDiffer, match="1 of the recount are not there"):
        require_equal(wrong, rows)


def test_a_lost_a_doubled_and_a_foreign_row_are_seen(placed: pl.DataFrame) -> None:
    rows = recount(BENCHED, placed)
    for wrong in (rows.slice(1), pl.concat([rows, rows.head(1)]), rows.with_columns(pl.col(PARTITION) + 1)):
        with pytest.raises(RowsDiffer):
            require_equal(wrong, rows)


def test_a_missing_cell_is_seen(placed: pl.DataFrame) -> None:
    rows = recount(BENCHED, placed)
    with pytest.raises(RowsDiffer, match="fingerprint"):
        require_equal(rows.drop("fingerprint"), rows)

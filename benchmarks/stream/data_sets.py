"""The two sets of rides, as they lie in one topic: partition and offset of each are known before anything is sent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import polars as pl
from aiokafka.partitioner import murmur2

from app.domain.fingerprint import Origin, mix, pack
from app.rides.frames import reported_at_us
from app.rides.generator.dirt import Dirt
from app.rides.generator.generator import Generator
from app.rides.ride import RIDES, UNKNOWN_ZONE

TOPIC = RIDES.topics[0]
"""All rides are in one topic of the source, so that every system reads the same records."""
PARTITIONS = 4
SEED = 7
FRAME_RIDES = 50_000
LARGEST_ZONE = 265
READ = (
    *("pickup_at_us", "dropoff_at_us", "pickup_zone", "dropoff_zone", "payment_type", "vendor"),
    *("passenger_count", "fare_cents", "tip_cents", "total_cents", "distance_hundredth_miles", "clock_ms"),
)
"""What the benched views read of a ride, and its Kafka timestamp."""
DIRT = replace(Dirt.real(), late=0.0, stray_years=0.0)
"""Disorder, nulls, refunds and duplicates as in real files; nothing late, nothing unusable."""


@dataclass(frozen=True)
class DataSet:
    """`rides_per_day` alone decides how many rides share a row: the fewer a day, the fewer in a pane."""

    name: str
    rides_per_day: int

    def frames(self, rides: int) -> Iterator[pl.DataFrame]:
        """The first `rides` rides, whole, in the order in which they are sent."""
        generator = Generator(SEED, rides_per_day=self.rides_per_day, dirt=DIRT)
        for first in range(0, rides, FRAME_RIDES):
            yield generator.rides(first, min(FRAME_RIDES, rides - first))

    def placed(self, rides: int) -> pl.DataFrame:
        """What the views read of each ride, and where it lies in the topic: see `place`."""
        return place(pl.concat(frame.select(READ) for frame in self.frames(rides)))


DATA_SETS = {one.name: one for one in (DataSet("sparse", 62_000), DataSet("dense", 700_000))}


def place(rides: pl.DataFrame) -> pl.DataFrame:
    """Rides in the order of sending, with where each comes to lie in a topic that was empty.

    `watermark_us`: of its partition, the ride itself included. `mix`: the fingerprint of its origin alone.
    """
    zones = pl.col("pickup_zone").fill_null(UNKNOWN_ZONE)
    partitions = {zone: partition_of(zone) for zone in range(1, LARGEST_ZONE + 1)}
    placed = rides.with_columns(
        partition=zones.replace_strict(partitions, return_dtype=pl.Int64),
        reported_at_us=reported_at_us(),
        duration_us=pl.col("dropoff_at_us") - pl.col("pickup_at_us"),
    ).with_columns(
        offset=pl.int_range(pl.len()).over("partition"),
        watermark_us=pl.col("reported_at_us").cum_max().over("partition"),
    )
    places = zip(placed["partition"].to_list(), placed["offset"].to_list(), strict=True)
    mixes = [mix(pack(Origin(TOPIC.number, partition, offset))) for partition, offset in places]
    return placed.with_columns(mix=pl.Series(mixes, dtype=pl.Int64))


def partition_of(zone: int) -> int:
    """The partition of a ride's key, as Java's and our producers choose it."""
    hashed: int = murmur2(str(zone).encode()) & 0x7FFFFFFF
    return hashed % PARTITIONS


def ends(placed: pl.DataFrame) -> dict[int, int]:
    """Per partition the offset behind its last ride."""
    counted = placed.group_by("partition").len().rows()
    return dict.fromkeys(range(PARTITIONS), 0) | dict(counted)

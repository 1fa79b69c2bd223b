"""Blocks of life cycles in the order of sending, across blocks: a run's log does not depend on how it was cut."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from app.rides.lifecycle.lifecycle import Lifecycle
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS

BLOCK_RIDES = 50_000


def in_order(lifecycle: Lifecycle, first: int, count: int, block_rides: int = BLOCK_RIDES) -> Iterator[pl.DataFrame]:
    """All records of the rides numbered from `first`, by `clock_ms`, with the `topic` of each.

    The columns are those of both records; those of the other one are null. What rides of the next block may precede is
    held back until they are made.
    """
    (events,), (fares,) = RIDE_EVENTS.topics, FARES.topics
    held = pl.DataFrame()
    for begin in range(first, first + count, block_rides):
        after = min(begin + block_rides, first + count)
        block = lifecycle.block(begin, after - begin)
        told = [
            block.events.with_columns(pl.lit(events.name).alias("topic")),
            block.fares.with_columns(pl.lit(fares.name).alias("topic")),
        ]
        records = pl.concat([held, *told], how="diagonal").sort("clock_ms", "topic", "ride_id", maintain_order=True)
        if after == first + count:
            yield records
            return
        settled = records["clock_ms"] < lifecycle.earliest_ms(after)
        yield records.filter(settled)
        held = records.filter(~settled)

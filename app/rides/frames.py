"""Ride frames: polars DataFrames that hold exactly the columns of a ride, in order.

A frame may carry columns beside them (service, row, clock_ms); `ride_columns` drops those.
"""

from __future__ import annotations

import polars as pl

from app.codecs.column_types import HELD
from app.rides.ride import RIDE_COLUMNS, UNKNOWN_ZONE

RIDE_DTYPES: dict[str, pl.DataType] = {c.name: HELD[c.kind].polars for c in RIDE_COLUMNS}
"""Column name to polars type, in the order of RIDE_COLUMNS."""


def ride_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """The ride columns of `frame` in order; a column it lacks is null throughout."""
    return frame.select(
        pl.col(name).cast(dtype) if name in frame.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in RIDE_DTYPES.items()
    )


def reported_at_us() -> pl.Expr:
    """When the ride was reported: its drop-off, or its pick-up where it has none (rule 1)."""
    return pl.coalesce("dropoff_at_us", "pickup_at_us").alias("reported_at_us")


def message_keys(frame: pl.DataFrame) -> list[bytes]:
    """One Kafka key per ride: the pick-up zone as text, b"264" where there is none."""
    return frame["pickup_zone"].fill_null(UNKNOWN_ZONE).cast(pl.String).cast(pl.Binary).to_list()

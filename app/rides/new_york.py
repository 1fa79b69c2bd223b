"""New York local time, as TLC publishes it (no zone, no offset), to UTC.

Twice a year local time is not enough, and the rule is:

- In the hour that occurs twice (clocks back in autumn) a time is its first occurrence, daylight time.
- A drop-off in that hour is its second occurrence if the first would lie before the pick-up.
- A time in the hour that does not exist (clocks forward in spring) is moved one hour forward.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

ZONE = "America/New_York"

Occurrence = Literal["earliest", "latest"]


def to_utc_us(local: pl.Expr, occurrence: Occurrence = "earliest") -> pl.Expr:
    """Microseconds since the epoch of a local time (`Datetime("us")` without zone); null stays null.

    `occurrence` chooses within the doubled hour only.
    """

    def instant(time: pl.Expr) -> pl.Expr:
        return time.dt.replace_time_zone(ZONE, ambiguous=occurrence, non_existent="null").dt.epoch("us")

    return instant(local).fill_null(instant(local.dt.offset_by("1h")))


def dropoff_to_utc_us(local: pl.Expr, pickup_at_us: pl.Expr) -> pl.Expr:
    """Microseconds since the epoch of a drop-off, given its pick-up in UTC: see the module's rule."""
    first, second = to_utc_us(local), to_utc_us(local, "latest")
    return pl.when(first < pickup_at_us).then(second).otherwise(first)

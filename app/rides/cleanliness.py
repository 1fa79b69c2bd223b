"""What is odd about TLC's trips (docs/cleanliness.md tells how often), as rules over the ride's columns.

None of them refuses a ride: published totals count it. Those that mark may be left out by a view.
"""

from __future__ import annotations

from app.domain.source import Action, Rule

PARTS_OF_TOTAL = (
    "fare_cents",
    "extra_cents",
    "mta_tax_cents",
    "tip_cents",
    "tolls_cents",
    "improvement_surcharge_cents",
    "congestion_surcharge_cents",
    "airport_fee_cents",
    "cbd_congestion_fee_cents",
)
"""What a total of a yellow or green taxi is made of; the other services publish none."""

_SUM = " + ".join(f"coalesce({part}, 0)" for part in PARTS_OF_TOTAL)

RIDE_RULES: tuple[Rule, ...] = (
    Rule("negative_fare", Action.MARK, "fare_cents < 0", "a refund; mostly the ride it takes back is there too"),
    Rule("ends_before_begin", Action.MARK, "duration_us < 0", "dropped off before it was picked up"),
    Rule("lasts_no_time", Action.MARK, "duration_us == 0", "dropped off when it was picked up"),
    Rule(
        "lasts_a_day",
        Action.MARK,
        "duration_us >= 82_800_000_000",
        "23 hours and more: a meter that was left running, more of them than of 6 to 23 hours",
    ),
    Rule("goes_far", Action.MARK, "distance_hundredth_miles > 10_000", "more than 100 miles; some say 800,000"),
    Rule("goes_nowhere", Action.COUNT, "distance_hundredth_miles == 0 and fare_cents > 0", "no distance, and a fare"),
    Rule("nobody_aboard", Action.COUNT, "passenger_count == 0", "the driver entered no passengers"),
    Rule(
        "unknown_zone",
        Action.COUNT,
        "264 <= pickup_zone <= 265 or 264 <= dropoff_zone <= 265",
        "picked up or dropped off at 264 (unknown) or 265 (outside of the city)",
    ),
    Rule("total_is_no_sum", Action.COUNT, f"total_cents != {_SUM}", "the total is another than its parts, summed"),
)

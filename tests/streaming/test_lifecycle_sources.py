"""Generated life cycles through tasks: every record is one that its source takes, and views stand over both."""

from __future__ import annotations

from collections import Counter

from app.domain.measures.kinds import Count, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.rides.lifecycle.lifecycle import Lifecycle
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.testkit.harness import Harness

EVENTS = View(1, "events", RIDE_EVENTS, (Group("kind", "kind"),), AllTime(), (Count("events"),), 0, 0, "by kind")
PAID = View(
    2, "paid", FARES, (Group("by", "payment_type"),), AllTime(), (Sum("total_cents", "total_cents"),), 0, 0, "x"
)


def test_views_over_life_cycles_count_what_was_made_and_nothing_is_unusable() -> None:
    block = Lifecycle(5).block(0, 150)
    kit = Harness(views=[EVENTS, PAID])
    for source, frame in zip((RIDE_EVENTS, FARES), block, strict=True):
        for record in frame.to_dicts():
            clock_ms = record.pop("clock_ms")
            kit.send(source.name, record, timestamp_ms=clock_ms)
    assert kit.quarantined == []
    assert {row["kind"]: row["events"] for row in kit.rows(EVENTS)} == Counter(block.events["kind"])
    assert sum(row["total_cents"] for row in kit.rows(PAID)) == block.fares["total_cents"].sum()

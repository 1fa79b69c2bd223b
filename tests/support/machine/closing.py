"""All windows of the rides, closed: what may be corrected from then on."""

from __future__ import annotations

from app.base.settings import Settings
from app.edge.cli.records.sending import close_windows
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from tests.support.machine.world import markers
from tests.support.truth import records_of


def close_all(world: Settings) -> None:
    """Ask for it."""
    latest_us = max(int(record.values["pickup_at_us"] or 0) for record in records_of(world, RIDES))
    close_windows(world, SHIPPED.group("rides"), latest_us // 1000 + 86_400_000)


def are_closed(world: Settings) -> bool:
    """Whether every task has closed them."""
    last = [markers(world, partition)[-1] for partition in range(world.topics.partitions)]
    return len({marker.inputs[topic.name].watermark_us for marker in last for topic in RIDES.topics}) == 1

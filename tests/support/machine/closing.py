"""All windows of the rides, closed: what may be corrected from then on; and tasks that have nothing left to do."""

from __future__ import annotations

from app.base import names
from app.base.settings import Settings
from app.domain.records import TopicPartition
from app.edge.cli.records.sending import close_windows
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from tests.support.machine.world import markers, next_offsets
from tests.support.truth import cluster_of, records_of


def close_all(world: Settings) -> None:
    """Ask for it."""
    latest_us = max(int(record.values["pickup_at_us"] or 0) for record in records_of(world, RIDES))
    close_windows(world, SHIPPED.group("rides"), latest_us // 1000 + 86_400_000)


def are_closed(world: Settings) -> bool:
    """Whether every task has closed them."""
    last = [markers(world, partition)[-1] for partition in range(world.topics.partitions)]
    return len({marker.inputs[topic.name].watermark_us for marker in last for topic in RIDES.topics}) == 1


def at_rest(settings: Settings) -> bool:
    """Whether the tasks have read all rides and closing times, and none has a transaction under way.

    Asked before a broker that is alone is frozen: it leads nothing as it goes on, and gives no end to a transaction
    that ends then (docs/operations.md).
    """
    at = {TopicPartition(*place): offset for place, offset in next_offsets(settings).items()}
    changelog = names.changelog_topic(settings.app_id, RIDES.name)
    places = [*at, *(TopicPartition(changelog, p) for p in range(settings.topics.partitions))]
    written, committed = (cluster_of(settings.kafka).log_ends(places, committed=known) for known in (False, True))
    rides = {topic.name for topic in RIDES.topics}
    ends = {place: written[place] - (place.topic not in rides) for place in at}  # of a transaction: no record
    return bool(at) and written == committed and all(offset >= ends[place] for place, offset in at.items())

"""Names of zones for answers, out of the topic that this worker holds."""

from __future__ import annotations

from typing import Any

from app.domain.records import Value
from app.engine.drive.kafka.held_topic import HeldValues
from app.rides.zones import ZONES_TOPIC, Zone, read_zone, zone_key

Names = HeldValues[Zone]


def no_names() -> Names:
    """Before anything of the topic was read."""
    return HeldValues(ZONES_TOPIC, read_zone)


def name_columns(names: Names, group: str, number: Value) -> dict[str, Value]:
    """A group's zone by name and borough, null where there is no such zone, or nothing is known of any."""
    zone = names.values.get(zone_key(number)) if isinstance(number, int) else None
    return {
        f"{group}_name": None if zone is None else zone.name,
        f"{group}_borough": None if zone is None else zone.borough,
    }


def names_document(names: Names) -> dict[str, Any]:
    """Which state of the topic the names are of; without `next_offset` there are none, and `why` says why."""
    if names.next_offset == 0:
        return {"topic": names.topic, "next_offset": 0, "why": "it is empty: flagfall zones publish fills it"}
    return {"topic": names.topic, "next_offset": names.next_offset, "why": names.why}

"""Tasks with one view that publishes finals of sessions, in minutes: a gap of ten, a minute of grace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from app.domain.records import Value
from app.domain.view import View
from app.testkit.harness import Harness
from app.testkit.simulation.parcels import MINUTE_US, ROUNDS
from app.testkit.simulation.samples import START_US
from tests.support.material.parcel import AIR, ROAD, parcel
from tests.support.material.visits import Visits

WEEK_SECONDS = 7 * 86_400
SESSIONS = replace(ROUNDS, grace_seconds=60, retention_seconds=WEEK_SECONDS)
VISITS = replace(SESSIONS, window=Visits("delivered_at_us", 600))


class Tasks(Harness):
    """Tasks that are told minutes instead of instants; `closes`: no record of the minute or before is in time now."""

    def __init__(self, view: View = SESSIONS, partitions: int = 2) -> None:
        super().__init__(finals=[view], partitions=partitions)
        self.view = view

    def sees(self, task: int, *minutes: int, topic: str = AIR, carrier: Value = "dhl", hub: Value = 1) -> None:
        for minute in minutes:
            self.send(topic, delivered(minute, carrier=carrier, hub=hub), partition=task)

    def closes(self, task: int, minute: int, topics: Sequence[str] = (AIR, ROAD)) -> None:
        for topic in topics:
            self.advance_watermark(topic, START_US + minute * MINUTE_US + self.view.grace_us, partition=task)

    @property
    def published(self) -> list[tuple[int, int, int]]:
        """Begin, end and count of each final."""
        return sorted(in_minutes(final) for final in self.finals(self.view))


def delivered(minute: int, **values: Value) -> dict[str, object]:
    return parcel(minute, delivered_at_us=START_US + minute * MINUTE_US, **values)


def in_minutes(final: dict[str, Any]) -> tuple[int, int, int]:
    begin, end = ((final[f"window_{at}_us"] - START_US) // MINUTE_US for at in ("start", "end"))
    return begin, end, final["count"]

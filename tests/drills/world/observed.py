"""What is there after a drill: every topic read committed, every table asked for over HTTP."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from confluent_kafka import Message

from app.base.settings import Settings
from app.codecs.stored.changelog import MARKER, kind_of
from app.codecs.stored.export import ExportMetadata
from app.codecs.stored.marker import decode_marker
from app.domain.marker import Marker
from app.domain.view import View
from tests.drills.world.fleet import Fleet
from tests.support.machine.waiting import NotInTime, patient
from tests.support.truth import read

READ_SECONDS = patient(60.0)
LOOK_AGAIN_SECONDS = 0.5


@dataclass
class Observed:
    """Read when first asked for, then kept."""

    settings: Settings
    fleet: Fleet
    changelog: str

    @property
    def partitions(self) -> range:
        return range(self.settings.topics.partitions)

    @cache  # noqa: B019  (one object a run)
    def messages(self, topic: str) -> list[Message]:
        """All committed records of a topic, partition by partition."""
        return self._read(topic)

    def at_least(self, topic: str, count: int) -> list[Message]:
        """All committed records of a topic as soon as they are so many, else those of the last look."""
        deadline = time.monotonic() + READ_SECONDS
        while len(messages := self._read(topic)) < count and time.monotonic() < deadline:
            threading.Event().wait(LOOK_AGAIN_SECONDS)
        return messages

    def _read(self, topic: str) -> list[Message]:
        return [message for partition in self.partitions for message in read(self.settings, topic, partition)]

    @cached_property
    def latest(self) -> dict[int, dict[bytes, bytes]]:
        """Last value of each key of the changelog, by partition; a tombstone removes its key."""
        latest: dict[int, dict[bytes, bytes]] = {p: {} for p in self.partitions}
        for message in self.messages(self.changelog):
            values = latest[message.partition()]
            if message.value() is None:
                values.pop(message.key(), None)
            else:
                values[message.key()] = message.value()
        return latest

    @cached_property
    def markers(self) -> dict[int, list[Marker]]:
        """Every marker that the log still has, by partition, in its order."""
        markers: dict[int, list[Marker]] = {p: [] for p in self.partitions}
        for message in self.messages(self.changelog):
            if kind_of(message.key()) == MARKER:
                markers[message.partition()].append(decode_marker(message.value()))
        return markers

    @cache  # noqa: B019  (one object a run)
    def export(self, view: View, partition: int) -> tuple[ExportMetadata, Any]:
        """A task's rows from the worker that owns it."""
        deadline = time.monotonic() + READ_SECONDS
        while (found := self.fleet.export(view.name, partition)) is None:
            if time.monotonic() > deadline:
                raise NotInTime(f"no worker exports {view.name} of task {partition}")
            threading.Event().wait(LOOK_AGAIN_SECONDS)
        return found

    def __hash__(self) -> int:
        return id(self)

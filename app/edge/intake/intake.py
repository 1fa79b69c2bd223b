"""What one worker takes in over HTTP: lanes, opened when they are first asked for, and an encoder for each topic."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence

from app.base.kafka.clients import librdkafka_options
from app.base.names import LANES
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.domain.source import Source
from app.edge.intake.encoding import AnyJson, TopicEncoder, within_bounds
from app.edge.intake.lane import Lane
from app.edge.intake.memory import Memory
from app.edge.intake.wanted import Keyed, Reply, Wanted
from app.topics import REMEMBERED_MS

CHECKED_TOGETHER = 250
"""Records of a request, before another one has its turn."""


class Intake:
    """Topics of these sources, without `written`, which the application's own tasks write."""

    def __init__(self, settings: Settings, sources: Iterable[Source], written: Iterable[str]) -> None:
        own, registry = set(written), Registry(settings)
        self._client, self._application = librdkafka_options(settings.kafka), settings.app_id
        self._remembered_bytes = settings.http.max_remembered_mb * 1_000_000
        self._encoders: Mapping[str, TopicEncoder] = {
            topic.name: TopicEncoder(source, topic.name, registry)
            for source in sources
            for topic in source.topics
            if topic.name not in own
        }
        self._lanes: dict[int, Lane] = {}
        self._turn = asyncio.Lock()

    @property
    def topics(self) -> Sequence[str]:
        """That take records."""
        return sorted(self._encoders)

    async def encoded(self, topic: str, documents: Sequence[AnyJson]) -> list[Keyed | str]:
        """Each as a record of the topic, which takes some, or why it is refused. RegistryUnavailable, NoSchemaFits."""
        outcomes = list[Keyed | str]()
        for at in range(0, len(documents), CHECKED_TOGETHER):
            async with self._turn:  # of those that want to go on, each takes its share from the event loop
                some = documents[at : at + CHECKED_TOGETHER]
                outcomes += await asyncio.to_thread(self._encoders[topic].encode, some)
        return list(within_bounds(outcomes))

    async def write(self, lane: int, wanted: Wanted) -> Reply:
        """What became of the records, by a lane of this worker. NotConfirmed, MemoryFull."""
        held = self._lanes.get(lane)
        if held is None or held.has_ended:
            memory = Memory(REMEMBERED_MS, self._remembered_bytes)
            held = self._lanes[lane] = Lane(self._client, self._application, lane, memory)
        return await asyncio.wrap_future(held.write(wanted))

    def close(self) -> None:
        """Behind what was taken."""
        for lane in self._lanes.values():
            lane.end()


def lane_of(key: str) -> int:
    """In which what its sender knows by this key is remembered."""
    return hashlib.sha256(key.encode()).digest()[0] % LANES

"""What one worker takes in over HTTP: lanes, opened when first asked for, and each topic's schema and encoder."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence

from app.base.kafka.clients import librdkafka_options
from app.base.names import LANES
from app.base.registry.client import Registry
from app.base.settings import Settings
from app.codecs.avro.from_json import JsonWriter
from app.domain.source import Source
from app.edge.intake.encoding import AnyJson, Encoder, within_bounds
from app.edge.intake.lane import Lane
from app.edge.intake.latest_schema import LatestSchema
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
        sources_of = {topic.name: one for one in sources for topic in one.topics if topic.name not in own}
        self._encoders: Mapping[str, Encoder] = {topic: Encoder(source) for topic, source in sources_of.items()}
        self._schemas: Mapping[str, LatestSchema] = {
            topic: LatestSchema(source, topic, registry) for topic, source in sources_of.items()
        }
        self._lanes: dict[int, Lane] = {}
        self._turn = asyncio.Lock()

    @property
    def topics(self) -> Sequence[str]:
        """That take records."""
        return sorted(self._encoders)

    async def writer(self, topic: str) -> JsonWriter:
        """Of the topic's records, which takes some. RegistryUnavailable, NoSchemaFits."""
        return await asyncio.wrap_future(self._schemas[topic].writer())

    async def encoded(self, topic: str, writer: JsonWriter, documents: Sequence[AnyJson]) -> list[Keyed | str]:
        """Each as a record of the topic, or why it is refused."""
        outcomes = list[Keyed | str]()
        for at in range(0, len(documents), CHECKED_TOGETHER):
            async with self._turn:  # of those that want to go on, each takes its share from the event loop
                some = documents[at : at + CHECKED_TOGETHER]
                outcomes += await asyncio.to_thread(self._encoders[topic].encode, writer, some)
        return list(within_bounds(outcomes))

    async def write(self, lane: int, wanted: Wanted) -> Reply:
        """What became of the records, by a lane of this worker. NotConfirmed, NotWritten, BrokerRefuses, MemoryFull."""
        held = self._lanes.get(lane)
        if held is None or held.has_ended:
            memory = Memory(REMEMBERED_MS, self._remembered_bytes)
            held = self._lanes[lane] = Lane(self._client, self._application, lane, memory)
        return await asyncio.wrap_future(held.write(wanted))

    def close(self) -> None:
        """Behind what was taken."""
        for schema in self._schemas.values():
            schema.end()
        for lane in self._lanes.values():
            lane.end()


def lane_of(key: str) -> int:
    """In which what its sender knows by this key is remembered."""
    return hashlib.sha256(key.encode()).digest()[0] % LANES

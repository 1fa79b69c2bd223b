"""What a rebuild reads again it reads by the schemas by which its tasks have read it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from app.base.errors import RegistryUnavailable
from app.codecs.avro.schema import WriterSchema
from app.domain.marker import InputPosition
from app.domain.records import TopicPartition
from app.engine.core.batch import Batch, Transaction
from app.engine.core.building import Stretch
from app.engine.core.completing import empty_marker
from app.engine.core.definition import TaskDefinition
from app.engine.drive.kafka import schemas
from app.engine.drive.kafka.inputs import Input
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.ownership import rebuilding
from app.engine.drive.ownership.mending import MendableTask
from app.testkit.cluster.partition_log import PartitionLog, SentRecord
from app.testkit.encoding import encode
from app.testkit.simulation.parcels import CARRIERS, PARCELS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US

DEFINITION = TaskDefinition("app", (PARCELS,), (CARRIERS,))
AIR, NUMBER = "parcels.air", SCHEMA_IDS[PARCELS.name]
PARCEL = {"parcel_id": "p", "hub": 1, "scanned_at_us": START_US, "delivered_at_us": START_US}


class OneParcel:
    """A rereader of a log that holds one."""

    def __init__(self, *_: Any) -> None:
        self.log = PartitionLog(AIR, 0)
        self.log.append(SentRecord(None, encode(PARCELS, NUMBER, PARCEL), (), START_US // 1000))

    async def records(self, stretch: Stretch, partition: int) -> Batch:
        return self.log.fetch(stretch.from_offset, 10)

    async def advances(self, topic: str, partition: int) -> list[Any]:
        return []


def standing() -> MendableTask:
    """A task that has read the parcel."""
    inputs = {t: Input(TopicPartition(t, 0), "id", 0, int(t == AIR)) for t in DEFINITION.topics}
    begin = {topic: InputPosition("id", 0, given.end) for topic, given in inputs.items()}
    read_by = SCHEMAS[NUMBER]
    assert read_by is not None
    marker = replace(empty_marker(DEFINITION, 0, begin), schemas={str(NUMBER): read_by.fingerprint})
    return MendableTask(marker, inputs, Input(TopicPartition("app.corrected", 0), "id", 0, 0))


class Group:
    """A stopped group of one task; `written` are the transactions."""

    def __init__(self, cache: SchemaCache) -> None:
        self.definition, self.connections = DEFINITION, SimpleNamespace(schemas=cache)
        self.written: list[Transaction] = []

    async def standings(self) -> dict[int, MendableTask]:
        return {0: standing()}

    @asynccontextmanager
    async def held(self) -> AsyncIterator[Any]:
        async def write(_: int, transaction: Transaction) -> int:
            self.written.append(transaction)
            return 0

        yield write


async def test_a_rebuild_waits_for_a_registry_that_has_another_schema_under_an_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rebuilding, "Rereader", OneParcel)
    monkeypatch.setattr(schemas, "FIRST_WAIT_SECONDS", 0.001)
    registered: dict[int, WriterSchema | None] = {NUMBER: WriterSchema(NUMBER, '"string"')}
    cache = SchemaCache(lambda number: registered[number], RegistryUnavailable)
    group: Any = Group(cache)
    rebuilt = asyncio.create_task(rebuilding.rebuild(group, lambda done, there: None))
    async with asyncio.timeout(60):
        while not (cache.awaited and "holds another schema" in cache.awaited[0].why):
            assert not rebuilt.done(), rebuilt
            await asyncio.sleep(0.001)
        assert group.written == []
        registered[NUMBER] = SCHEMAS[NUMBER]
        await rebuilt
    (written,) = group.written
    assert (written.marker.inputs[AIR].decoded, written.marker.inputs[AIR].quarantined) == (1, 0)

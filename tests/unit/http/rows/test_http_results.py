"""What tasks have published, over HTTP: finals as they stand, Avro results with instants as text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from app.codecs.avro.schema import Schemas
from app.codecs.batches.record_headers import RecordHeaders
from app.domain.records import TopicPartition
from app.edge.http.application import create_app
from app.edge.http.context import ServedGroup
from app.edge.http.query.seal import Seal
from app.edge.published.newest import Newest
from app.edge.published.result_topic import published_by
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.rides.lifecycle.pairing import FARED_STARTS, LONG_RIDES
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.lifecycle.views import PAYMENTS
from app.testkit.encoding import encode, schema_of
from tests.support.http import Client, one_task
from tests.support.material.stored.runs import verdicts_in

FINALS = f"windows.{PAYMENTS.name}"
SCHEMA_ID = 5
SEAL = Seal(SecretStr(""))
DEFINITION = TaskDefinition(
    "flagfall",
    (RIDE_EVENTS, FARES),
    (PAYMENTS,),
    joins=(FARED_STARTS,),
    alerts=(LONG_RIDES,),
    finals=(PAYMENTS.name,),
    task_count=2,
    schema_ids={FARED_STARTS.output.name: SCHEMA_ID, LONG_RIDES.output.name: SCHEMA_ID},
)
LONG = {
    "began_at_us": 0,
    "told_at_us": 7_200_000_000,
    "at_offset": 3,
    "start_origin": 1,
    "service": "yellow",
    "taxi_id": 1,
    "driver_id": 2,
}


class HeldLog:
    """Values by topic and partition; a record's offset is its place, its second is its offset and its partition."""

    def __init__(self, held: Mapping[str, Sequence[Sequence[bytes]]]) -> None:
        self._held = held

    async def bounds(self, topic: str) -> tuple[Mapping[int, int], Mapping[int, int]]:
        partitions = self._held.get(topic, ((), ()))
        return dict.fromkeys(range(len(partitions)), 0), {p: len(values) for p, values in enumerate(partitions)}

    async def read(self, place: TopicPartition, from_offset: int, to_offset: int) -> Batch:
        values = self._held[place.topic][place.partition][from_offset:to_offset]
        offsets = np.arange(from_offset, to_offset)
        times, keys, headers = offsets * 1_000 + place.partition, [None] * len(values), RecordHeaders.none(len(values))
        return Batch(*place, from_offset, to_offset, offsets, times, keys, values, headers)

    async def schemas(self, records: Iterable[Newest]) -> Schemas:
        known = schema_of(LONG_RIDES.source, SCHEMA_ID)
        ids = {schema_id for one in records for schema_id in one.batch.packed.schema_ids}
        return {schema_id: known if schema_id == SCHEMA_ID else None for schema_id in ids}


def final(rides: int) -> bytes:
    return orjson.dumps({"view": PAYMENTS.name, "revision": 0, "trips": rides, "cells": [rides, 2**62]})


def alert(ride_id: str) -> bytes:
    return encode(LONG_RIDES.source, SCHEMA_ID, LONG | {"ride_id": ride_id})


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    held = {
        FINALS: [[final(n) for n in range(3)], [final(10 + n) for n in range(2)]],
        LONG_RIDES.output.name: [[alert("a"), b"no Avro", alert("b")], []],
    }
    served = ServedGroup(
        "ride_events", one_task(), DEFINITION.views, DEFINITION.sources, None, published_by(DEFINITION)
    )
    app = create_app([served], verdicts_in(tmp_path), results=HeldLog(held))
    async with TestClient(TestServer(app)) as client:
        yield client


async def told(client: Client, topic: str, **asked: Any) -> dict[str, Any]:
    answer = await client.get(f"/v1/results/{topic}", params=asked)
    assert answer.status == 200, await answer.text()
    return dict(await answer.json())


async def refused(client: Client, topic: str, **asked: Any) -> tuple[int, str]:
    answer = await client.get(f"/v1/results/{topic}", params=asked)
    problem = await answer.json(content_type=None)
    return answer.status, problem["type"].removeprefix("urn:flagfall:problem:")


async def test_every_topic_of_results_is_listed_with_what_it_is_of(client: Client) -> None:
    answer = await (await client.get("/v1/results")).json()
    assert [(one["topic"], one["kind"], one["of"]) for one in answer["data"]] == [
        (FINALS, "finals", "payments"),
        ("rides.fared", "joined", "fared_starts"),
        ("rides.long", "alerts", "long_rides"),
    ]


async def test_the_newest_of_all_partitions_come_first_page_by_page(client: Client) -> None:
    first = await told(client, FINALS, limit=2)
    assert [(one["partition"], one["offset"], one["values"]["trips"]) for one in first["data"]] == [
        (0, 2, 2),
        (1, 1, 11),
    ]
    assert first["meta"]["position"] == {f"{FINALS}-0": 3, f"{FINALS}-1": 2}
    rest = await told(client, FINALS, limit=5, cursor=first["meta"]["next_cursor"])
    assert [one["values"]["trips"] for one in rest["data"]] == [1, 10, 0]
    assert rest["meta"]["next_cursor"] is None
    assert rest["data"][0]["values"] == orjson.loads(final(1))
    assert rest["data"][0]["timestamp"] == "1970-01-01T00:00:01Z"


async def test_partitions_can_be_chosen(client: Client) -> None:
    one = await told(client, FINALS, partition=1, limit=1)
    assert [result["values"]["trips"] for result in one["data"]] == [11]
    assert await refused(client, FINALS, partition=2) == (400, "bad-parameter")
    assert await refused(client, FINALS, cursor=one["meta"]["next_cursor"]) == (400, "bad-cursor")


async def test_avro_results_have_instants_as_text_and_what_cannot_be_read_is_said(client: Client) -> None:
    newest, unreadable, oldest = (await told(client, LONG_RIDES.output.name))["data"]
    assert (newest["values"]["ride_id"], newest["values"]["told_at_us"]) == ("b", "1970-01-01T02:00:00Z")
    assert (newest["values"]["ended_at_us"], newest["unreadable"]) == (None, None)
    assert (unreadable["values"], unreadable["unreadable"]) == (None, "bad_magic")
    assert oldest["values"]["ride_id"] == "a"


async def test_a_topic_without_results_is_empty_and_one_of_other_things_is_unknown(client: Client) -> None:
    empty = await told(client, FARED_STARTS.output.name)
    assert (empty["data"], empty["meta"]["next_cursor"]) == ([], None)
    assert await refused(client, "fares") == (404, "unknown-topic")


@pytest.mark.parametrize("asked", [{"limit": 0}, {"limit": 1_001}, {"zone": 3}, {"partition": "-1"}])
async def test_a_parameter_that_cannot_be_used_is_refused(client: Client, asked: dict[str, Any]) -> None:
    assert await refused(client, FINALS, **asked) == (400, "bad-parameter")


@pytest.mark.parametrize("cursor", ["x", "", SEAL.sealed(b'{"layout":1}'), SEAL.sealed(b"\xff"), "\u20ac"])
async def test_a_cursor_that_is_none_is_refused(client: Client, cursor: str) -> None:
    assert await refused(client, FINALS, cursor=cursor) == (400, "bad-cursor")


async def test_a_cursor_of_another_topic_is_refused(client: Client) -> None:
    page = await told(client, FINALS, limit=1)
    assert await refused(client, LONG_RIDES.output.name, cursor=page["meta"]["next_cursor"]) == (400, "bad-cursor")

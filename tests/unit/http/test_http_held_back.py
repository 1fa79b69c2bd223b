"""Which topic-partitions an answer names as those that keep windows open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app.domain.event_time import NO_WATERMARK
from app.edge.http.rows.answers import HELD_BACK_SHOWN
from app.engine.core.task_state import TaskState
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from tests.support.http import NOON_US, Client, Serve, server_of, zone_table
from tests.support.material.stored.tables import ready_directory, task_of

TOPICS = [topic.name for topic in RIDES.topics]


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    async with server_of(tmp_path) as start:
        yield start


def at_watermarks(partition: int, watermarks_us: Mapping[str, int], unread: Collection[str] = ()) -> TaskState:
    """A task that stands at noon everywhere but in these topics; of those `unread` it has had no record."""
    task = task_of(partition, {ZONE_DEMAND: zone_table((0, 1))}, watermark_us=NOON_US)
    inputs = {
        name: replace(at, watermark_us=watermarks_us.get(name, NOON_US), next_offset=0 if name in unread else 100)
        for name, at in task.marker.inputs.items()
    }
    return replace(task, marker=replace(task.marker, inputs=inputs))


async def meta(client: Client, **parameters: str) -> Any:
    answer = await client.get("/v1/views/zone_demand/rows", params=parameters)
    return (await answer.json())["meta"]


async def test_topics_without_a_record_are_named_while_others_have_some(serve: Serve) -> None:
    client = await serve(ready_directory([at_watermarks(0, {TOPICS[2]: NO_WATERMARK}), at_watermarks(1, {})]))
    told = await meta(client)
    assert (told["as_of"], told["held_back_by"]) == (None, [f"{TOPICS[2]}-0"])


async def test_the_one_that_is_behind_is_named(serve: Serve) -> None:
    client = await serve(ready_directory([at_watermarks(0, {}), at_watermarks(1, {TOPICS[0]: NOON_US - 1})]))
    assert (await meta(client))["held_back_by"] == [f"{TOPICS[0]}-1"]


async def test_nothing_is_named_where_all_stand_equal_or_one_is_missing(serve: Serve) -> None:
    assert (await meta(await serve(ready_directory([at_watermarks(0, {})]))))["held_back_by"] == []
    behind = ready_directory([at_watermarks(0, {TOPICS[0]: NO_WATERMARK})], partitions=2)
    assert (await meta(await serve(behind), partial="allow"))["held_back_by"] == []


async def test_no_more_than_ten_are_named(serve: Serve) -> None:
    empty = [at_watermarks(p, dict.fromkeys(TOPICS[1:], NO_WATERMARK)) for p in range(6)]
    named = (await meta(await serve(ready_directory(empty))))["held_back_by"]
    assert (len(named), named[0]) == (HELD_BACK_SHOWN, min(f"{topic}-0" for topic in TOPICS[1:]))


async def test_what_no_record_has_moved_is_named_behind_what_holds_it(serve: Serve) -> None:
    """Topics without a record were advanced to the lowest of the others, more of them than are named."""
    first, *quiet = sorted(TOPICS, reverse=True)
    tasks = [at_watermarks(p, dict.fromkeys(quiet, NOON_US - 1), unread=quiet) for p in range(4)]
    tasks.append(at_watermarks(4, dict.fromkeys(TOPICS, NOON_US - 1), unread=quiet))
    named = (await meta(await serve(ready_directory(tasks))))["held_back_by"]
    assert (len(named), named[:2]) == (HELD_BACK_SHOWN, [f"{first}-4", f"{min(quiet)}-0"])


async def test_the_page_names_them_and_the_command(serve: Serve) -> None:
    empty = dict.fromkeys(TOPICS[1:3], NO_WATERMARK)
    client = await serve(ready_directory([at_watermarks(p, empty) for p in range(2)]))
    text = await (await client.get("/")).text()
    first, second, third, _ = sorted(f"{topic}-{p}" for topic in TOPICS[1:3] for p in range(2))
    assert f"held back by {first}, {second}, {third} and 1 more, without any record" in text
    assert "<code>flagfall advance</code>" in text


async def test_metrics_tell_which_of_a_source_have_no_watermark(serve: Serve) -> None:
    """An alert asks while others of the source have one: those of this worker, or of another."""
    client = await serve(ready_directory([at_watermarks(0, {TOPICS[2]: NO_WATERMARK}), at_watermarks(1, {})]))
    text = await (await client.get("/metrics")).text()
    told = {
        (sample.labels["source"], sample.labels["topic"], sample.labels["partition"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "flagfall_watermark_missing"
    }
    everywhere = {("rides", topic, partition): 0.0 for topic in TOPICS for partition in "01"}
    assert told == everywhere | {("rides", TOPICS[2], "0"): 1.0}

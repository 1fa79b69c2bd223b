"""A topic that the marker of an older release does not know: the task begins it, and who cannot says so in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.errors import StateError
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import InputPosition, Marker
from app.domain.obeyed import lowest_seen_us
from app.engine.core.batch import Batch
from app.engine.core.completing import completed, empty_marker
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.rebuilding import LogNow, Rebuild
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.testkit.cluster.partition_log import PartitionLog, SentRecord
from app.testkit.encoding import encode
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, PARCELS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US

AIR, ROAD = (topic.name for topic in PARCELS.topics)
BY_AIR = replace(PARCELS, topics=PARCELS.topics[:1])
VIEWS = (HUB_LOAD, CARRIERS)
OLDER = TaskDefinition("app", (BY_AIR,), tuple(replace(view, source=BY_AIR) for view in VIEWS))
NEWER = TaskDefinition("app", (PARCELS,), VIEWS)
BEGIN = {topic: InputPosition("id", 7, 7) for topic in NEWER.topics}
PARCEL = {"parcel_id": "p", "hub": 1, "scanned_at_us": START_US, "delivered_at_us": START_US}


def of_older() -> Marker:
    return empty_marker(OLDER, 3, {topic: BEGIN[topic] for topic in OLDER.topics})


def parcel_by(topic: str) -> Batch:
    log = PartitionLog(topic, 3)
    log.append(SentRecord(None, encode(PARCELS, SCHEMA_IDS[PARCELS.name], PARCEL), (), START_US // 1000))
    return log.fetch(0, 10)


def test_a_release_with_another_topic_begins_it_and_its_views_go_on() -> None:
    marker = completed(NEWER, of_older(), BEGIN)
    assert marker.inputs[ROAD].next_offset == 7
    assert {name: view.state for name, view in marker.views.items()} == dict.fromkeys(NEWER.by_name, "live")
    assert lowest_seen_us(HUB_LOAD, marker) == NO_WATERMARK


def test_a_topic_of_which_nothing_tells_where_it_begins_is_named() -> None:
    with pytest.raises(StateError, match=f"{ROAD}-3: the task does not know the topic.* start a worker"):
        completed(NEWER, of_older(), {topic: BEGIN[topic] for topic in OLDER.topics})


def test_who_asks_the_older_marker_for_the_topic_is_told_what_to_do() -> None:
    with pytest.raises(StateError, match=f"{ROAD}-3: the task does not know the topic.* start a worker"):
        lowest_seen_us(HUB_LOAD, of_older())


def test_a_batch_of_a_topic_that_is_not_the_task_s_is_refused_in_words() -> None:
    core = TaskCore(OLDER, new_state(OLDER, 3, BEGIN | {ROAD: BEGIN[ROAD]}))
    core.state.marker = of_older()
    with pytest.raises(StateError, match=f"{ROAD}-3: the task does not know the topic"):
        core.read([parcel_by(ROAD)], SCHEMAS)


def test_a_rebuild_of_an_older_task_leaves_the_topic_to_the_worker_that_begins_it() -> None:
    beyond_us = 1 << 62  # no instant: what was closed by it is closed no more
    marker = of_older()
    marker = replace(marker, inputs=marker.inputs | {AIR: replace(marker.inputs[AIR], watermark_us=beyond_us)})
    logs = {topic: LogNow("id", 7, 7) for topic in NEWER.topics}
    rebuilt = Rebuild(NEWER, marker, logs, {topic: [] for topic in NEWER.by_topic}, LogNow("id", 0, 0)).transaction()
    assert ROAD not in rebuilt.marker.inputs
    assert rebuilt.marker.inputs[AIR].watermark_us == NO_WATERMARK

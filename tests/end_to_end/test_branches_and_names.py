"""Rides sent on by their amount, each once through kill -9; zone names that come and go with their topic; and a client
that hears of changes only, and has the rows after all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.codecs.batches.origin_headers import OFFSET, TIMESTAMP_MS, TOPIC
from app.domain.oracle.branch_fold import topic_of
from app.domain.rules.admission import refusal
from app.domain.source import with_derived
from app.edge.cli.records.zones import publish_zones
from app.rides.branches import AMOUNTS
from app.rides.ride import RIDES
from app.rides.zones import Zone, zones
from app.topics import branch_topics, zones_topic
from tests.support.machine.cluster import write_rides
from tests.support.machine.following import following
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_exact, covers, delete_topics, markers
from tests.support.truth import read, records_of

RIDES_EACH = 2_000


def page_of(started: Worker) -> Any:
    return started.get("/v1/views/zone_demand/rows", limit=1_000).json()


def names_of(started: Worker) -> tuple[dict[str, Any], set[str | None]]:
    """What an answer says of the zones' topic, and the names in it."""
    answer = page_of(started)
    return answer["meta"]["zones"], {row["group"]["zone_name"] for row in answer["data"]}


def test_every_ride_goes_on_once_and_names_follow_their_topic(world: Settings, tmp_path: Path) -> None:
    delete_topics(world, [zones_topic(world).name])
    create_topics(world.kafka, branch_topics(world, [AMOUNTS]))
    before = {(t, p): len(read(world, t, p)) for t in AMOUNTS.outputs for p in range(world.topics.partitions)}
    write_rides(world, 0, RIDES_EACH)
    started = [Worker(world, tmp_path / f"{i}.log", {"FLAGFALL_BRANCHES": "true"}) for i in range(2)]
    try:
        wait_for(lambda: all(one.is_ready() for one in started), "workers are ready", started)
        with following(started[1], "/v1/views/zone_demand/changes?limit=1000") as heard:
            write_rides(world, RIDES_EACH, RIDES_EACH)
            started[0].kill()  # while they are under way
            wait_for(lambda: covers(world, started[1]), "the survivor covers all rides", started)
            assert_names_follow(world, started)
            wait_for(lambda: heard(page_of(started[1])["data"]), "who heard of changes only has the rows", started)
        assert_exact(world, started[1:])
    finally:
        for one in started:
            one.kill()
    assert_sent_on(world, before)


def assert_names_follow(world: Settings, started: list[Worker]) -> None:
    """From no topic over all names to another name of one zone."""
    told, names = names_of(started[1])
    assert (told["next_offset"], names) == (None, {None})
    assert zones_topic(world).name in told["why"]

    create_topics(world.kafka, [zones_topic(world)])
    assert [publish_zones(world, zones().values(), if_empty=True) for _ in range(2)] == [len(zones()), 0]
    wait_for(lambda: (names_of(started[1])[0]["next_offset"] or 0) >= len(zones()), "the names are there", started)
    told, names = names_of(started[1])
    assert (told["next_offset"], told["why"]) == (len(zones()), None)
    assert "JFK Airport" in names
    publish_zones(world, [Zone(132, "Idlewild", "Queens")])
    wait_for(lambda: "Idlewild" in names_of(started[1])[1], "a corrected name is followed", started)
    assert names_of(started[1])[0]["next_offset"] == len(zones()) + 1


def assert_sent_on(world: Settings, before: dict[tuple[str, int], int]) -> None:
    """Each usable ride stands once in its topic and partition, as it came, and in the order of its own partition."""
    usable: dict[tuple[str, int, int], str] = {}
    for record in records_of(world, RIDES):
        values = with_derived(RIDES, record.values)
        if refusal(RIDES, record, values) is None:
            usable[record.topic, record.partition, record.offset] = topic_of(AMOUNTS, values)
    came = {(t.name, p): {m.offset(): m for m in read(world, t.name, p)} for t in RIDES.topics for p in range(4)}
    found: dict[tuple[str, int, int], str] = {}
    for topic, partition in before:
        last: dict[str, int] = {}
        for sent in read(world, topic, partition)[before[topic, partition] :]:
            told = {name: value.decode() for name, value in sent.headers()}
            origin, offset = told[TOPIC], int(told[OFFSET])
            original = came[origin, partition][offset]
            assert (origin, partition, offset) not in found
            assert offset > last.get(origin, -1)
            assert (sent.key(), sent.value(), sent.timestamp()) == (
                original.key(),
                original.value(),
                original.timestamp(),
            )
            assert told[TIMESTAMP_MS] == str(original.timestamp()[1])
            found[origin, partition, offset], last[origin] = topic, offset
    assert found == usable
    ledgers = [markers(world, partition)[-1] for partition in range(world.topics.partitions)]
    assert sum(marker.branches["amounts"].high for marker in ledgers) == list(found.values()).count(AMOUNTS.high)
    for marker in ledgers:
        sent = marker.branches["amounts"]
        assert sent.high + sent.low == sum(at.decoded for topic, at in marker.inputs.items() if topic in sent.start)
    assert len(usable) > RIDES_EACH
    assert set(found.values()) == set(AMOUNTS.outputs)

"""The application's topics over HTTP: as they are declared, and as the cluster has them."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from app.base.kafka.cluster import Cluster
from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.edge.published.known_topics import KnownTopics
from app.rides.ride import RIDES
from app.topics import topics, zones_topic
from tests.support.http import one_task, server_of
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.truth import log_ends

REFUSED = ({"group": ""}, {"group": "\0"}, {"group": "a\0b"}, {"group": "x" * 250}, {"limit": "1"})


def known(settings: Settings) -> KnownTopics:
    return KnownTopics(settings.kafka, topics(settings), Cluster(settings.kafka))


async def test_topics_are_told_as_the_cluster_has_them(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 200)
    async with server_of(tmp_path, topics=known(world)) as serve:
        client = await serve(one_task())
        declared = (await (await client.get("/v1/topics")).json())["data"]
        rides = await (await client.get("/v1/topics/rides.yellow")).json()
        (task,) = rides["readers"][0]["tasks"]
    assert {one["topic"] for one in declared} == {topic.name for topic in topics(world)}
    assert not any(one["takes_records"] for one in declared)
    ends = {partition: end for (topic, partition), end in log_ends(world, RIDES).items() if topic == "rides.yellow"}
    assert {one["partition"]: one["end"] for one in rides["partitions"]} == ends
    assert all(one["start"] <= one["end"] for one in rides["partitions"])
    (broker,) = {one["leader"] for one in rides["partitions"]}
    assert isinstance(broker, int)
    assert all(one["replicas"] == one["in_sync_replicas"] == [broker] for one in rides["partitions"])
    assert (rides["subject"], rides["settings"]["cleanup.policy"]) == ("rides.yellow-value", "delete")
    assert (rides["readers"][0]["group"], task["partition"]) == ("rides", 0)


async def test_the_lag_of_any_consumer_group_is_told(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 200)
    ends = {partition: end for (topic, partition), end in log_ends(world, RIDES).items() if topic == "rides.yellow"}
    consumer = Consumer({"bootstrap.servers": world.kafka.bootstrap_server, "group.id": "another's"})
    consumer.commit(offsets=[TopicPartition("rides.yellow", 1, ends[1] - 1)], asynchronous=False)
    consumer.close()
    async with server_of(tmp_path, topics=known(world)) as serve:
        client = await serve(one_task())
        asked = [("group", "another's"), ("group", "nobody's"), ("group", "another's")]
        told = await (await client.get("/v1/topics/rides.yellow", params=asked)).json()
        refused = [await client.get("/v1/topics/rides.yellow", params=p) for p in REFUSED]
    another, nobody = told["groups"]
    assert (another["group"], nobody["group"]) == ("another's", "nobody's")
    behind = {one["partition"]: (one["next_offset"], one["lag_records"]) for one in another["partitions"]}
    assert behind == {p: (ends[1] - 1, 1) if p == 1 else (None, None) for p in ends}
    assert {one["next_offset"] for one in nobody["partitions"]} == {None}
    assert (another["state"], nobody["state"]) == ("empty", "dead")
    assert {answer.status for answer in refused} == {400}


async def test_a_group_that_kafka_does_not_know_is_told_apart_from_one_that_has_committed_nothing(
    world: Settings, tmp_path: Path
) -> None:
    options = {"bootstrap.servers": world.kafka.bootstrap_server, "group.id": f"{world.app_id}.silent"}
    consumer = Consumer({**options, "enable.auto.commit": False})
    consumer.subscribe(["rides.yellow"])
    wait_for(lambda: consumer.poll(0.1) or consumer.assignment(), "the group has its member")
    async with server_of(tmp_path, topics=known(world)) as serve:
        client = await serve(one_task())
        asked = [("group", f"{world.app_id}.silent"), ("group", f"{world.app_id}.mistyped")]
        told = await (await client.get("/v1/topics/rides.yellow", params=asked)).json()
    consumer.close()
    assert {one["next_offset"] for group in told["groups"] for one in group["partitions"]} == {None}
    assert [group["state"] for group in told["groups"]] == ["stable", "dead"]


async def test_a_topic_that_is_not_there_is_told_apart_from_one_that_is_nobodys(
    settings: Settings, tmp_path: Path
) -> None:
    async with server_of(tmp_path, topics=known(settings)) as serve:
        client = await serve(one_task())
        nobodys = await (await client.get("/v1/topics/elsewhere")).json()
        missing = await (await client.get(f"/v1/topics/{settings.app_id}.late")).json()
    assert nobodys["detail"].startswith("'elsewhere' is none of the application's; there are: rides.yellow")
    assert missing["detail"] == f"{settings.app_id}.late is not there: `flagfall topics create` makes it."


async def test_brokers_that_are_silent_are_told(settings: Settings, tmp_path: Path, unused_tcp_port: int) -> None:
    kafka = KafkaSettings(bootstrap_server=f"127.0.0.1:{unused_tcp_port}")
    topics_there = KnownTopics(kafka, [zones_topic(settings)], Cluster(kafka))
    async with server_of(tmp_path, topics=topics_there) as serve:
        client = await serve(one_task())
        answer = await client.get("/v1/topics/zones")
        told = await answer.json()
    assert (answer.status, told["type"]) == (503, "urn:flagfall:problem:no-broker")

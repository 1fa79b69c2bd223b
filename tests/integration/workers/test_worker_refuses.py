"""A world that is not what it should be: the worker says so in words, and ends with another code than 0."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import NewPartitions

from app.base import names
from app.base.addresses import LOOPBACK
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.cluster import Cluster
from app.base.kafka.group_members import Members
from app.base.kafka.topic_admin import admin_client, create_topics
from app.base.settings import Settings
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import encode_marker
from app.domain.marker import InputPosition, Marker, OffsetRange
from app.rides.ride import RIDES
from app.rides.views import VIEWS
from app.topics import application_topics, source_topics
from tests.support.flow import by_task, exported, in_changelog
from tests.support.machine.cluster import write_rides
from tests.support.machine.ports import free_ports
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import flagfall
from tests.support.machine.world import (
    assert_ledgers,
    covers,
    delete_records,
    delete_topics,
    ends_in_words,
    markers,
    ready_worker,
)
from tests.support.truth import log_ends, records_of

Ended = CompletedProcess[str]


def test_broker_topics_and_port_are_checked_at_start(world: Settings) -> None:
    """Five workers at once, as most of a start is the same."""
    (nowhere,) = free_ports(1)
    url = "http://worker-1:18081"
    bare = world.model_copy(update={"app_id": f"{world.app_id}-bare"})
    other = world.model_copy(update={"app_id": f"{world.app_id}-other"})
    create_topics(world.kafka, application_topics(other, RIDES.name))
    with socket.create_server((LOOPBACK, 0)) as taken, member(world, f"{url}#other"), ThreadPoolExecutor() as pool:
        port = taken.getsockname()[1]
        no_broker = pool.submit(ends_in_words, _on_port(world), FLAGFALL_KAFKA_BOOTSTRAP_SERVER=f"{LOOPBACK}:{nowhere}")
        no_topics = pool.submit(ends_in_words, _on_port(bare))
        other_count = pool.submit(ends_in_words, _on_port(other), FLAGFALL_TOPICS_PARTITIONS=3)
        no_address = pool.submit(ends_in_words, _on_port(world), FLAGFALL_WORKER_ADVERTISED_URL=url)
        no_port = pool.submit(ends_in_words, world, FLAGFALL_WORKER_HTTP_PORT=port)
    _said(no_broker.result(), f"no broker answers at {LOOPBACK}:{nowhere}", "FLAGFALL_KAFKA_BOOTSTRAP_SERVER")
    _said(no_topics.result(), f"{bare.app_id}-rides-changelog", "`flagfall topics create` makes them")
    _said(other_count.result(), "rides.yellow: has 4 partitions, not 3", "rides.hvfhv: has 4 partitions, not 3")
    _said(no_port.result(), f"port {port} on {LOOPBACK} is in use", "FLAGFALL_WORKER_HTTP_PORT", "--http-port")
    _said(no_address.result(), f"is known to others as {url}", f"at {LOOPBACK}", "FLAGFALL_WORKER_ADVERTISED_URL")


def test_a_topic_that_was_created_anew_is_refused(world: Settings) -> None:
    _write_marker(world, lambda at: at)
    delete_topics(world, ["rides.green"])
    create_topics(world.kafka, source_topics(world, RIDES))
    _said(ends_in_words(_on_port(world)), "rides.green-0: the topic was created anew", "FLAGFALL_APP_ID")


def test_records_deleted_before_they_were_read_stop_the_worker(world: Settings) -> None:
    write_rides(world, 0, 600)
    _write_marker(world, lambda at: at)
    starts = log_ends(world, RIDES)
    write_rides(world, 600, 600)
    delete_records(world, log_ends(world, RIDES))
    lost = log_ends(world, RIDES)["rides.hvfhv", 0] - starts["rides.hvfhv", 0]
    assert lost
    _said(ends_in_words(_on_port(world)), "LOG_LOSS: the log begins at offset", "deleted before they were read")


def test_a_worker_goes_on_behind_a_loss_that_was_accepted(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 600)
    _write_marker(world, lambda at: at)
    read = log_ends(world, RIDES)
    write_rides(world, 600, 600)
    ends = log_ends(world, RIDES)
    delete_records(world, ends)
    gaps = {t.name: OffsetRange(read[t.name, 0], ends[t.name, 0]) for t in RIDES.topics}
    gaps = {topic: gap for topic, gap in gaps.items() if gap.offsets}
    shown = flagfall(world, "accept-loss", "--json")
    assert shown.returncode == 1
    assert {gap["place"]: gap["offsets"] for gap in json.loads(shown.stdout)["gaps"]} == {
        f"{topic}-0": gap.offsets for topic, gap in gaps.items()
    }
    with member(world, "http://worker-1:18081#it"):
        refused = flagfall(world, "accept-loss", "--yes")
    assert refused.returncode == 1
    assert "1 worker is in the group" in refused.stderr
    assert "http://worker-1:18081#it" in refused.stderr
    wait_for(lambda: not Members(world.kafka, world.app_id)(), "the member has left")
    assert flagfall(world, "accept-loss", "--yes").returncode == 0
    write_rides(world, 1_200, 100)
    with ready_worker(_on_port(world), tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride that is left is covered", [running])
    marker = markers(world, 0)[-1]
    assert {topic: at.lost for topic, at in marker.inputs.items() if at.lost} == {t: (g,) for t, g in gaps.items()}
    assert_ledgers(marker)


def test_a_log_that_ends_before_the_state_does_stops_the_worker(world: Settings) -> None:
    _write_marker(world, lambda at: replace(at, next_offset=at.next_offset + 5))
    _said(ends_in_words(_on_port(world)), "LOG_LOSS: the log ends at offset")


def test_tables_are_built_anew_from_what_the_topics_hold_now(world: Settings, tmp_path: Path) -> None:
    """rides.yellow has lost its end, rides.green was created anew, the others have lost what was not read."""
    write_rides(world, 0, 600)
    _write_marker(world, lambda at: replace(at, next_offset=at.next_offset + 5))
    delete_topics(world, ["rides.green"])
    create_topics(world.kafka, source_topics(world, RIDES))
    write_rides(world, 600, 600)
    ends = log_ends(world, RIDES)
    delete_records(world, {at: end for at, end in ends.items() if at[0] in ("rides.fhv", "rides.hvfhv")})
    shown = flagfall(world, "rebuild", "--dry-run", "--json")
    assert shown.returncode == 0
    places = {place["place"]: place for place in json.loads(shown.stdout)["places"]}
    assert places["rides.green-0"]["created_anew"]
    assert (places["rides.fhv-0"]["from"], places["rides.fhv-0"]["to"]) == (ends["rides.fhv", 0],) * 2
    with member(world, "http://worker-1:18081#it"):
        refused = flagfall(world, "rebuild", "--yes")
    assert refused.returncode == 1
    assert "http://worker-1:18081#it" in refused.stderr
    assert len(markers(world, 0)) == 1
    wait_for(lambda: not Members(world.kafka, world.app_id)(), "the member has left")
    assert flagfall(world, "rebuild", "--yes").returncode == 0
    write_rides(world, 1_200, 100)
    with ready_worker(_on_port(world), tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride that is left is covered", [running])
        records, stored = records_of(world, RIDES), in_changelog(world, VIEWS)
        for view in VIEWS:
            assert exported(view, [running], world.topics.partitions) == by_task(view, records) == stored[view.name]
    assert_ledgers(markers(world, 0)[-1])


def test_records_deleted_under_a_running_worker_stop_it(world: Settings, tmp_path: Path) -> None:
    write_rides(world, 0, 600)
    with ready_worker(world, tmp_path, FLAGFALL_WORKER_SESSION_TIMEOUT_SECONDS=30) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        running.send(signal.SIGSTOP)
        write_rides(world, 600, 600)
        delete_records(world, log_ends(world, RIDES))
        write_rides(world, 1_200, 100)
        running.send(signal.SIGCONT)
        code = running.ended()
    _said(CompletedProcess([], code, running.log.read_text()), "LOG_LOSS: the log begins at offset")


def test_a_topic_that_is_created_anew_between_two_fetches_stops_a_running_worker(
    world: Settings, tmp_path: Path
) -> None:
    """The fetcher would go on at its offset, in another log."""
    write_rides(world, 0, 600)
    with ready_worker(world, tmp_path, FLAGFALL_WORKER_SESSION_TIMEOUT_SECONDS=30) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        running.send(signal.SIGSTOP)
        delete_topics(world, ["rides.green"])
        create_topics(world.kafka, source_topics(world, RIDES))
        write_rides(world, 600, 1_200)
        running.send(signal.SIGCONT)
        code = running.ended()
    told = running.log.read_text()
    assert (code, told.count("the topic was created anew"), "Traceback" in told) == (1, 1, False), told


def test_a_changelog_that_is_made_anew_stops_a_running_worker_and_those_that_come_after(
    world: Settings, tmp_path: Path
) -> None:
    write_rides(world, 0, 600)
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        _make_changelog_anew(world)
        write_rides(world, 600, 600)
        code = running.ended()
    told = running.log.read_text()
    assert (code, told.count("the changelog was created anew"), "Traceback" in told) == (1, 1, False), told
    _said(ends_in_words(_on_port(world)), "the changelog was created anew", "FLAGFALL_APP_ID")


def test_a_changelog_that_is_made_anew_between_two_runs_is_not_taken_for_a_new_application(
    world: Settings, tmp_path: Path
) -> None:
    """It holds nothing; nor does that of an application that begins."""
    write_rides(world, 0, 600)
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        assert running.stop() == 0
    _make_changelog_anew(world)
    _said(ends_in_words(_on_port(world)), "the changelog was created anew", "FLAGFALL_APP_ID")
    refused = flagfall(world, "rebuild", "--dry-run")
    assert (refused.returncode, "the changelog was created anew" in refused.stderr) == (1, True), refused.stderr


def test_a_topic_that_is_deleted_under_a_worker_that_commits_its_offsets_ends_it_at_once(
    world: Settings, tmp_path: Path
) -> None:
    """Its last commit names the topic: aiokafka would repeat it for ever."""
    write_rides(world, 0, 600)
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered, though no offset may be committed", [running])
        delete_topics(world, ["rides.hvfhv"])
        code = running.ended()
    told = running.log.read_text()
    assert (code, told.count("has no such topic"), "Traceback" in told) == (1, 1, False), told
    assert "did not stop within" not in told


def test_partitions_that_are_added_stop_a_running_worker(world: Settings, tmp_path: Path) -> None:
    with ready_worker(world, tmp_path) as running:
        admin = admin_client(world.kafka)
        for future in admin.create_partitions([NewPartitions("rides.green", 5)]).values():
            future.result(patient(10))
        code = running.ended()
    _said(CompletedProcess([], code, running.log.read_text()), "rides.green has 5 partitions, not 4", "FLAGFALL_APP_ID")


@contextlib.contextmanager
def member(settings: Settings, client_id: str) -> Iterator[None]:
    """Another live member of the application's group, as far as the broker knows."""
    mine = {"client.id": client_id, "group.id": settings.app_id}
    consumer = Consumer({**librdkafka_options(settings.kafka), **mine})
    members = Members(settings.kafka, settings.app_id)
    consumer.subscribe(["rides.yellow"])

    def joined() -> bool:
        consumer.poll(0.1)
        return any(other.client_id == client_id for other in members())

    try:
        wait_for(joined, "the member has joined")
        yield
    finally:
        consumer.close()


def _make_changelog_anew(world: Settings) -> None:
    delete_topics(world, [names.changelog_topic(world.app_id, RIDES.name)])
    create_topics(world.kafka, application_topics(world, RIDES.name))


def _on_port(settings: Settings) -> Settings:
    (port,) = free_ports(1)
    return settings.model_copy(update={"worker": settings.worker.model_copy(update={"http_port": port})})


def _write_marker(world: Settings, moved: Callable[[InputPosition], InputPosition]) -> None:
    """A state of task 0 that covers what its topics hold now, moved as told."""
    topics = fold_topics(world)
    facts, ends = Cluster(world.kafka).topics(topics), log_ends(world, RIDES)
    at = {t: ends.get((t, 0), 0) for t in topics}
    inputs = {t: InputPosition(facts[t].id, at[t], at[t]) for t in topics}
    inputs["rides.yellow"] = moved(inputs["rides.yellow"])
    marker = Marker(world.app_id, RIDES.number, 0, 1, inputs, {})
    producer = Producer(librdkafka_options(world.kafka))
    changelog = names.changelog_topic(world.app_id, RIDES.name)
    producer.produce(changelog, encode_marker(marker), marker_key(RIDES.number), 0)
    assert producer.flush(10) == 0


def fold_topics(world: Settings) -> list[str]:
    return [*(t.name for t in RIDES.topics), names.advance_requests_topic(world.app_id, RIDES.name)]


def _said(ended: Ended, *words: str) -> None:
    assert ended.returncode not in (0, None), ended.stdout
    for word in words:
        assert word in ended.stdout
    assert "Traceback" not in ended.stdout
    assert ended.stdout.count(words[0]) == 1, ended.stdout

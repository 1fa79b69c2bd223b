"""A world that is not what it should be when a worker starts: it says so in words, and ends with a code of failure."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from app.base.addresses import LOOPBACK
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.rides.ride import RIDES
from app.topics import application_topics, source_topics
from tests.support.machine.cluster import write_rides
from tests.support.machine.ports import free_ports
from tests.support.machine.refusals import assert_said, make_changelog_anew, member, on_own_port, write_marker
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import flagfall
from tests.support.machine.world import covers, delete_records, delete_topics, ends_in_words, ready_worker
from tests.support.truth import log_ends


def test_broker_topics_and_port_are_checked_at_start(world: Settings) -> None:
    """Five workers at once, as most of a start is the same."""
    (nowhere,) = free_ports(1)
    url = "http://worker-1:18081"
    bare = world.model_copy(update={"app_id": f"{world.app_id}-bare"})
    other = world.model_copy(update={"app_id": f"{world.app_id}-other"})
    create_topics(world.kafka, application_topics(other, RIDES.name))
    with socket.create_server((LOOPBACK, 0)) as taken, member(world, f"{url}#other"), ThreadPoolExecutor() as pool:
        port = taken.getsockname()[1]
        no_broker = pool.submit(
            ends_in_words, on_own_port(world), FLAGFALL_KAFKA_BOOTSTRAP_SERVER=f"{LOOPBACK}:{nowhere}"
        )
        no_topics = pool.submit(ends_in_words, on_own_port(bare))
        other_count = pool.submit(ends_in_words, on_own_port(other), FLAGFALL_TOPICS_PARTITIONS=3)
        no_address = pool.submit(ends_in_words, on_own_port(world), FLAGFALL_WORKER_ADVERTISED_URL=url)
        no_port = pool.submit(ends_in_words, world, FLAGFALL_WORKER_HTTP_PORT=port)
    silent = f"no broker answers at {LOOPBACK}:{nowhere}"
    assert_said(no_broker.result(), f"[ERROR] {silent}", f"[WARNING] {silent}", "FLAGFALL_KAFKA_BOOTSTRAP_SERVER")
    assert_said(no_topics.result(), f"{bare.app_id}-rides-changelog", "`flagfall topics create` makes them")
    assert_said(other_count.result(), "rides.yellow: has 4 partitions, not 3", "rides.hvfhv: has 4 partitions, not 3")
    assert_said(no_port.result(), f"port {port} on {LOOPBACK} is in use", "FLAGFALL_WORKER_HTTP_PORT", "--http-port")
    assert_said(no_address.result(), f"is known to others as {url}", f"at {LOOPBACK}", "FLAGFALL_WORKER_ADVERTISED_URL")


def test_a_topic_that_was_created_anew_is_refused(world: Settings) -> None:
    write_marker(world, lambda at: at)
    delete_topics(world, ["rides.green"])
    create_topics(world.kafka, source_topics(world, RIDES))
    assert_said(ends_in_words(on_own_port(world)), "rides.green-0: the topic was created anew", "FLAGFALL_APP_ID")


def test_records_deleted_before_they_were_read_stop_the_worker(world: Settings) -> None:
    write_rides(world, 0, 600)
    write_marker(world, lambda at: at)
    starts = log_ends(world, RIDES)
    write_rides(world, 600, 600)
    delete_records(world, log_ends(world, RIDES))
    lost = log_ends(world, RIDES)["rides.hvfhv", 0] - starts["rides.hvfhv", 0]
    assert lost
    assert_said(
        ends_in_words(on_own_port(world)), "LOG_LOSS: the log begins at offset", "deleted before they were read"
    )


def test_a_log_that_ends_before_the_state_does_stops_the_worker(world: Settings) -> None:
    write_marker(world, lambda at: replace(at, next_offset=at.next_offset + 5))
    assert_said(ends_in_words(on_own_port(world)), "LOG_LOSS: the log ends at offset")


def test_a_changelog_that_is_made_anew_between_two_runs_is_not_taken_for_a_new_application(
    world: Settings, tmp_path: Path
) -> None:
    """It holds nothing; nor does that of an application that begins."""
    write_rides(world, 0, 600)
    with ready_worker(world, tmp_path) as running:
        wait_for(lambda: covers(world, running), "every ride is covered", [running])
        assert running.stop() == 0
    make_changelog_anew(world)
    assert_said(ends_in_words(on_own_port(world)), "the changelog was created anew", "FLAGFALL_APP_ID")
    refused = flagfall(world, "rebuild", "--dry-run")
    assert (refused.returncode, "the changelog was created anew" in refused.stderr) == (1, True), refused.stderr

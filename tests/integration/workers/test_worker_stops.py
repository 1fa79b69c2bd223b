"""A world that changes under a running worker: it says so in words, and ends with a code of failure."""

from __future__ import annotations

import signal
from pathlib import Path
from subprocess import CompletedProcess

from confluent_kafka.admin import NewPartitions

from app.base.kafka.administrator import admin_client
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.rides.ride import RIDES
from app.topics import source_topics
from tests.support.machine.asking import results
from tests.support.machine.cluster import write_rides
from tests.support.machine.refusals import assert_said, make_changelog_anew, on_own_port
from tests.support.machine.waiting import wait_for
from tests.support.machine.world import covers, delete_records, delete_topics, ends_in_words, ready_worker
from tests.support.truth import log_ends


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
    assert_said(CompletedProcess([], code, running.log.read_text()), "LOG_LOSS: the log begins at offset")


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
        make_changelog_anew(world)
        write_rides(world, 600, 600)
        code = running.ended()
    told = running.log.read_text()
    assert (code, told.count("the changelog was created anew"), "Traceback" in told) == (1, 1, False), told
    assert_said(ends_in_words(on_own_port(world)), "the changelog was created anew", "FLAGFALL_APP_ID")


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
        results(admin.create_partitions([NewPartitions("rides.green", 5)]).values(), "partitions are added")
        code = running.ended()
    assert_said(
        CompletedProcess([], code, running.log.read_text()), "rides.green has 5 partitions, not 4", "flagfall widen"
    )

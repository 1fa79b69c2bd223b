"""Two task groups in each worker: exact in both after kill -9, and neither moves the other."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from confluent_kafka import Producer

from app.base import names
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.domain.marker import Fates, InputPosition
from app.rides.ride import RIDES, SERVICES
from app.rides.views import VENDOR_TRIPS
from tests.support.apps.two_sources import POOLED, POOLED_TOPIC, POOLED_VIEWS, two_sources_topics
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import patient, wait_for
from tests.support.machine.workers import Worker, workers
from tests.support.machine.world import assert_exact, covers, markers, tasks_of

APPLICATION = "tests.support.apps.two_sources"
SEED = 20_261_121
ALL_TASKS = [0, 1, 2, 3]
TO_POOLED = dict.fromkeys(SERVICES, POOLED_TOPIC)


@pytest.fixture
def both(world: Settings) -> Settings:
    create_topics(world.kafka, two_sources_topics(world))
    return world


def test_two_sources_in_each_worker_stay_exact_through_kill_minus_nine(both: Settings, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    _write(both, 0)
    with workers(both, tmp_path, 2, application=APPLICATION) as started:
        for step in range(1, 4):
            victim = rng.randrange(2)
            survivor = started[1 - victim]
            _write(both, step)
            started[victim].kill()  # while the rides just written are under way
            wait_for(
                lambda one=survivor: tasks_of(one) == ALL_TASKS == tasks_of(one, POOLED.name),  # type: ignore[misc]
                "the other worker has all tasks of both",
                started,
            )
            wait_for(lambda one=survivor: _covers(both, one), "it covers all of both", started)  # type: ignore[misc]
            started[victim] = Worker(both, tmp_path / f"again-{step}.log", application=APPLICATION)
        wait_for(lambda: all(_covers(both, one) for one in started), "both workers cover all of both", started)
        assert_exact(both, started)
        assert_exact(both, started, POOLED_VIEWS)
        _say_what_they_are(started[0])


def test_a_source_without_records_goes_on_where_it_was_while_the_other_moves(both: Settings, tmp_path: Path) -> None:
    """A seek of one group would show in what the other has read; its finals may be under way all the while."""
    _write(both, 0)
    with workers(both, tmp_path, 1, application=APPLICATION) as started:
        wait_for(lambda: _covers(both, started[0]), "it covers all of both", started)
        before = [_read_of_pooled(both, p) for p in ALL_TASKS]
        write_rides(both, 1_000, 1_000)
        wait_for(lambda: _covers(both, started[0]), "it covers the new rides", started)
        assert [_read_of_pooled(both, p) for p in ALL_TASKS] == before
        assert "fetching again" not in started[0].log.read_text()
        assert_exact(both, started)
        assert_exact(both, started, POOLED_VIEWS)


def test_a_fenced_task_is_taken_back_and_the_rest_goes_on(both: Settings, tmp_path: Path) -> None:
    """Somebody takes the transactional id of one task, though the group assigns it to this worker all the while."""
    _write(both, 0)
    with workers(both, tmp_path, 1, application=APPLICATION) as (one,):
        wait_for(lambda: _covers(both, one), "it covers all of both", [one])
        Producer(
            {
                **librdkafka_options(both.kafka),
                "transactional.id": names.transactional_id(both.app_id, RIDES.name, 0),
            }
        ).init_transactions(patient(10))
        _write(both, 1)
        wait_for(lambda: "this worker drops task 0" in one.log.read_text(), "it is fenced", [one])
        wait_for(lambda: _covers(both, one), "it covers all of both again", [one])
        said = one.log.read_text()
        assert "rides: tasks 0 taken over" in said
        assert said.count("rides: ready") == 2
        assert said.count("pooled: ready") == said.count("pooled: tasks") == 1
        assert_exact(both, [one])
        assert_exact(both, [one], POOLED_VIEWS)


def _write(settings: Settings, step: int) -> None:
    """1,000 rides more for each source; other ones, and in another order."""
    write_rides(settings, 1_000 * step, 500)
    write_rides(settings, 1_000 * step, 1_000, seed=8, topics=TO_POOLED)
    write_rides(settings, 1_000 * step + 500, 500)


def _covers(settings: Settings, one: Worker) -> bool:
    return covers(settings, one, VENDOR_TRIPS) and covers(settings, one, POOLED_VIEWS[1])


def _read_of_pooled(settings: Settings, partition: int) -> tuple[InputPosition, list[Fates]]:
    """How far a task has read the second source, and what became of its records in each view."""
    marker = markers(settings, partition, POOLED)[-1]
    return marker.inputs[POOLED_TOPIC], [marker.views[view.name].fates[POOLED_TOPIC] for view in POOLED_VIEWS]


def _say_what_they_are(one: Worker) -> None:
    groups = one.get("/readyz").json()["groups"]
    assert {name: at["standing"] for name, at in groups.items()} == {"rides": "ready", "pooled": "ready"}
    views = {view["name"] for view in one.get("/v1/views").json()["data"]}
    assert {"zone_demand", "pooled_demand"} <= views
    metrics = one.get("/metrics").text
    assert 'flagfall_group_standing{group="pooled",standing="ready"} 1.0' in metrics
    assert 'flagfall_transactions_total{group="pooled",partition="' in metrics

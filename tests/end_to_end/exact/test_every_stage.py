"""Finals, sessions, a join, corrections, idle advances and an added view: exact through what breaks workers."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from app.base import names
from app.base.kafka.producer import Producer
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.domain.rows import Cells, RowKey
from app.rides.ride import SERVICES
from tests.support.apps.every_stage import (
    BEGUN,
    DEMAND,
    MET,
    MORE,
    PAID,
    PUBLISHED,
    SHIFTS,
    STAGED,
    WAITED,
    every_stage_topics,
)
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import delete_records, log_ends_of, messages
from tests.support.staged_truth import assert_every_stage_exact, closed_row, is_quiet

ALL_TASKS = [0, 1, 2, 3]
PLAIN, WITH_NEW_VIEW = "plain", "more"
FAULTS = ("kill", "commit-gap", "zombie")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One of the faults, as each takes a minute and two are drilled anyway; FLAGFALL_TEST_ALL_FAULTS=1: all."""
    if "fault" in metafunc.fixturenames:
        metafunc.parametrize("fault", FAULTS if os.environ.get("FLAGFALL_TEST_ALL_FAULTS") else ["commit-gap"])


APPLICATION = "tests.support.apps.every_stage"


@pytest.fixture
def staged(world: Settings) -> Settings:
    """The staged topics, without a record."""
    create_topics(world.kafka, every_stage_topics(world))
    shared = [BEGUN, PAID, MET, WAITED, *(names.finals_topic(view.name) for view in PUBLISHED)]
    delete_records(world, {place: end for place, end in log_ends_of(world, shared).items() if end})
    return world


def test_every_stage_is_exact_through(fault: str, staged: Settings, tmp_path: Path) -> None:
    rng = random.Random(fault)
    team = Team(staged, tmp_path)
    try:
        _write(staged, 0)
        team.start(2, PLAIN)
        for step in range(1, 3):
            _write(staged, step)
            team.suffer(fault, rng, PLAIN)
        wait_for(lambda: team.is_quiet(more=False), "all is folded and closed", team.workers)
        told = _correct(staged)
        for _ in range(2):  # one after the other, as a rolling restart does
            team.replace_oldest(WITH_NEW_VIEW)
        _write(staged, 3)
        team.suffer(fault, rng, WITH_NEW_VIEW)
        _let_one_topic_go_idle(staged, team)
        wait_for(lambda: team.is_quiet(more=True), "all is folded and closed", team.workers)
        assert _outcomes(staged) == told
        finals = [json.loads(m.value()) for m in messages(staged, names.finals_topic(DEMAND.name))]
        assert [final["revision"] for final in finals if final["revision"]] == [1]
        assert messages(staged, names.finals_topic(SHIFTS.name))
        assert messages(staged, MET)
        assert messages(staged, WAITED)
        assert messages(staged, names.unmatched_topic(staged.app_id))
        assert_every_stage_exact(staged, team.workers, more=True)
    finally:
        team.end()


class Team:
    """The workers of a test, the oldest first."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self.settings, self.folder = settings, folder
        self.workers: list[Worker] = []
        self._ends: object = None
        self._made = 0

    def start(self, count: int, stage: str, failpoint: str = "") -> None:
        """More workers; returns when all answer, or are gone (as a fail-point may have it).

        Those with the new view advance what is idle: rows that are looked at before may else expire on the way.
        """
        variables = {MORE: stage, "FLAGFALL_TEST_FAILPOINT": failpoint}
        if stage == WITH_NEW_VIEW:
            variables["FLAGFALL_WORKER_IDLE_AFTER_SECONDS"] = "2"
        for _ in range(count):
            self._made += 1
            log = self.folder / f"worker-{self._made}.log"
            self.workers.append(Worker(self.settings, log, variables, application=APPLICATION))
        wait_for(lambda: all(w.is_ready() or w.process.poll() is not None for w in self.workers), "ready", self.workers)

    def suffer(self, fault: str, rng: random.Random, stage: str) -> None:
        """Something breaks, and is made whole again."""
        if fault == "kill":
            victim = self.workers.pop(rng.randrange(2))
            victim.kill()
            self.start(1, stage)
        elif fault == "zombie":
            victim = rng.choice(self.workers)
            victim.send(signal.SIGSTOP)
            (other,) = (w for w in self.workers if w is not victim)
            wait_for(lambda: _owns_all(other), "the other worker has taken over", self.workers)
            victim.send(signal.SIGCONT)
            wait_for(lambda: all(w.is_ready() for w in self.workers), "both are back", self.workers)
        else:
            place = rng.choice(("transaction-committed", "transaction-half-sent", "transaction-sent", "batch-applied"))
            self.start(1, stage, f"{place}:kill:{rng.randint(1, 3)}")
            doomed = self.workers.pop()
            _write(self.settings, 10 + self._made)
            wait_for(lambda: doomed.process.poll() is not None, "the fail-point is reached", [*self.workers, doomed])
            wait_for(lambda: all(w.is_ready() for w in self.workers), "the others are back", self.workers)

    def replace_oldest(self, stage: str) -> None:
        """A worker ends in order, and a new one takes its place."""
        self.workers.pop(0).stop()
        self.start(1, stage)

    def is_quiet(self, *, more: bool) -> bool:
        """Whether all is read, and nothing was written since the last look."""
        ready = all(w.is_ready() for w in self.workers)
        if not ready or not is_quiet(self.settings, self.workers, more=more):
            return False
        before, self._ends = self._ends, log_ends_of(self.settings, [f"{self.settings.app_id}-staged-changelog"])
        return before == self._ends

    def end(self) -> None:
        for worker in self.workers:
            worker.kill()


def _owns_all(one: Worker) -> bool:
    answer = one.get("/readyz")
    return answer.is_success and answer.json()["groups"]["staged"]["tasks"] == ALL_TASKS


def _write(settings: Settings, step: int) -> None:
    """600 rides begun, most of them paid, in step with the time of the rides before."""
    write_rides(settings, 600 * step, 600, topics=dict.fromkeys(SERVICES, BEGUN))
    write_rides(settings, 600 * step, 500, topics=dict.fromkeys(SERVICES, PAID))


def _let_one_topic_go_idle(settings: Settings, team: Team) -> None:
    """Rides begin and none is paid, until the workers have raised the watermark of the payments."""
    at = [40]

    def goes_on() -> bool:
        write_rides(settings, 600 * at[0], 40, topics=dict.fromkeys(SERVICES, BEGUN))
        at[0] += 1
        told = messages(settings, names.advances_topic(settings.app_id))
        return {json.loads(m.value())["topic"] for m in told} >= {PAID}

    wait_for(goes_on, "an idle topic's watermark is raised", team.workers)


def _correct(settings: Settings) -> list[tuple[str, str | None]]:
    """One correction that fits, the same again, and one that expects another row; gives the outcomes there must be."""
    partition, key, cells = closed_row(settings)
    better = (*cells[:2], cells[2] + 100, *cells[3:])
    topic = names.corrections_topic(settings.app_id, STAGED.name)
    producer = Producer(settings.kafka)
    given = [_told(key, cells, better), _told(key, cells, better), _told(key, None, better)]
    producer.send(topic, given, [None] * 3, [0] * 3, partition)
    producer.finish()
    wait_for(lambda: len(_outcomes(settings)) >= 3, "the corrections are judged")
    return [("applied", None), ("refused", "moved_on"), ("refused", "moved_on")]


def _told(key: RowKey, expected: Cells | None, row: Cells) -> bytes:
    document = {
        "run": "test",
        "view": DEMAND.name,
        "version": DEMAND.version,
        "window_start_us": key.window_start_us,
        "group": key.group,
        "expected": expected,
        "row": row,
    }
    return json.dumps(document).encode()


def _outcomes(settings: Settings) -> list[tuple[str, str | None]]:
    told = (json.loads(m.value()) for m in messages(settings, names.corrected_topic(settings.app_id)))
    return [(t["outcome"], t["why"]) for t in told]

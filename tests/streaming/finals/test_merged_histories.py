"""Through any history each session of all tasks is published once: crashes, zombies, rebalances, steps of any size."""

from __future__ import annotations

import json
import os
import random
import zlib
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from app.base import names
from app.codecs.blobs import Blobs
from app.codecs.stored.advance_requests import encode_request
from app.domain.advance import AdvanceRequest
from app.domain.records import TopicPartition
from app.domain.view import View
from app.engine.core.cells.sessions import Touching
from app.engine.core.definition import TaskDefinition
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.results import closing, gathering, merging, open_rows, sending
from app.engine.core.rows.open_rows import OpenRows
from app.engine.core.rows.state import Rows, ViewState
from app.testkit.cluster import until_idle
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.encoding import encode, filled
from app.testkit.history import run_script
from app.testkit.simulation.parcels import MINUTE_US, PARCELS, ROUNDS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US
from tests.support.material.merged_histories import MOST_IN_A_STEP, in_steps_of, merged_history
from tests.support.material.parcel import AIR, ROAD, parcel

HISTORIES = int(os.environ.get("FLAGFALL_SIMULATED_HISTORIES", "40"))
MOST_SEEDS = 150
"""Histories in which a planted fault must have been seen at the latest."""


@pytest.mark.parametrize("most", MOST_IN_A_STEP)
def test_finals_are_the_sessions_of_all_tasks_each_once(most: int, pytestconfig: pytest.Config) -> None:
    first_seed, tally = int(pytestconfig.getoption("hypothesis_seed")), Counter[str]()
    with in_steps_of(most):
        for seed in range(first_seed, first_seed + HISTORIES):
            ended = run_script(merged_history(seed))
            assert ended.problems == [], seed
            tally += ended.tally
    assert tally["finals that merged"] > HISTORIES


def whole_keys(patch: pytest.MonkeyPatch) -> None:
    def places(_: View, row_keys: Blobs, count: int) -> np.ndarray:
        return np.array([zlib.crc32(key or b"") % count for key in row_keys], np.int64)

    patch.setattr(sending, "partitions_of", places)


def held_by_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(merging, "are_held", lambda *asked: np.zeros(len(asked[-1]), np.bool_))


def overtaken_at_once(patch: pytest.MonkeyPatch) -> None:
    overtaken, far = OpenRows.overtaken, dict.fromkeys(range(100), 1 << 62)
    patch.setattr(OpenRows, "overtaken", lambda self, _, most: overtaken(self, far, most))


def open_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OpenRows, "overtaken", lambda *_: Blobs.nulls(0))


def waiting_alone(patch: pytest.MonkeyPatch) -> None:
    """What comes is one with nothing that waits."""

    def touching(state: ViewState, rows: Rows) -> Touching:
        return kernel_of(state.view).touching(ViewState(state.view), rows)

    patch.setattr(gathering, "kernel_of", lambda _: SimpleNamespace(touching=touching))


def marked_too_soon(patch: pytest.MonkeyPatch) -> None:
    """The first open rows are told, and the others taken for told."""
    tell = open_rows.tell_open
    patch.setattr(closing, "tell_open", lambda draft, view, to: (t := tell(draft, view, to))._replace(told_us=t.to_us))


@pytest.mark.parametrize(
    "plant", [whole_keys, held_by_nothing, overtaken_at_once, open_for_ever, waiting_alone, marked_too_soon]
)
def test_a_planted_fault_is_seen(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(until_idle, "MOST_ROUNDS", 5_000)
    with in_steps_of(1) as patch:
        plant(patch)
        assert any(run_script(merged_history(seed)).problems for seed in range(MOST_SEEDS))


def test_a_worker_that_is_killed_anywhere_leaves_each_session_to_be_published_once() -> None:
    with in_steps_of(1):
        whole, calls = played(0)
        assert whole == [(0, 29, 3), (40, 50, 1), (60, 88, 4)]
        assert calls > 100
        for killed_after in range(1, calls, 3):
            assert played(killed_after)[0] == whole, killed_after


def played(killed_after: int) -> tuple[list[tuple[int, int, int]], int]:
    """Begin, end and count of the finals of a little history whose workers are killed after so many calls to the
    broker, and how many calls came after."""
    broker = Broker(2)
    definition = TaskDefinition("app", (PARCELS,), (ROUNDS,), finals=(ROUNDS.name,), task_count=2)
    for task, minutes in enumerate([(0, 19, 40, 69, 78), (10, 60, 65)]):
        for minute in minutes:
            at_us = START_US + minute * MINUTE_US
            values = filled(PARCELS, parcel(minute, delivered_at_us=at_us))
            value = encode(PARCELS, SCHEMA_IDS[PARCELS.name], values)
            broker.produce(TopicPartition(AIR, task), SentRecord(None, value, (), at_us // 1000))
        for topic in (AIR, ROAD):
            request = encode_request(
                AdvanceRequest(topic, task, START_US + 300 * MINUTE_US, len(minutes) * (topic == AIR))
            )
            broker.produce(TopicPartition(definition.advance_requests, task), SentRecord(None, request))

    def worker(draws: int) -> list[SimulatedTask]:
        return [SimulatedTask(broker, definition, task, SCHEMAS, random.Random(draws + task)) for task in (0, 1)]

    held = worker(0)
    for call in range(killed_after):
        held[call % 2].step()
    held, calls = worker(9), 0
    idle = 0
    while idle < 2:
        for one in held:
            one.step()
            calls += 1
            while broker.mark_one(one.transactional_id):
                pass
        idle = idle + 1 if all(one.is_idle for one in held) else 0
    told = (entry.record for _, entry in broker.committed(names.finals_topic(ROUNDS.name)))
    finals = [json.loads(record.value or b"") for record in told if record is not None]
    spans = ((final["window_start_us"], final["window_end_us"], final["count"]) for final in finals)
    return sorted(((s - START_US) // MINUTE_US, (e - START_US) // MINUTE_US, n) for s, e, n in spans), calls

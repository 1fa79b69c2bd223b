"""Corrections of tables that are built anew: made again where the rows are those that they were made for."""

from __future__ import annotations

import random

import pytest

from app.base import names
from app.codecs.stored.corrections import correction_bytes
from app.domain.corrections.correction import Correction
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from app.engine.core.task_state import TaskState
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.received import stored_rows
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import START_US
from tests.support.tasks.mended import (
    AIR,
    ask_to_close,
    correct,
    corrected_tables,
    counts,
    falsify,
    last_marker,
    new_task,
    rebuild,
    send,
    take_over,
    values,
)


@pytest.mark.parametrize("seed", range(10))
def test_what_corrected_the_tables_corrects_them_again(broker: Broker, seed: int) -> None:
    """Wherever workers are killed on the way."""
    draws = random.Random(seed)
    corrected_tables(broker)
    expected = counts(take_over(broker), HUB_LOAD)
    assert expected == {RowKey(START_US, (1,)): 3, RowKey(START_US + 10 * MINUTE_US, (1,)): 1}
    published = values(broker, names.finals_topic("hub_load"))
    for _ in range(3):
        rebuild(broker)
        task = new_task(broker)
        for _ in range(draws.randrange(60)):
            task.step()
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == expected
    assert last_marker(task).views["hub_load"].corrected_from == 0
    assert counts(task, CARRIERS) == {RowKey(None, (None,)): 5}
    assert values(broker, names.finals_topic("hub_load")) == published


def test_corrections_of_rows_whose_records_are_gone_are_not_made_again(broker: Broker) -> None:
    corrected_tables(broker)
    broker.log(AIR, 0).delete_below(1)
    rebuild(broker)
    task = take_over(broker)
    assert counts(task, HUB_LOAD)[RowKey(START_US, (1,))] == 1
    assert last_marker(task).views["hub_load"].corrected_from == 1


def test_corrections_of_rows_that_were_false_leave_the_tables_without_them(broker: Broker) -> None:
    """The correction was made for what somebody had written there."""
    send(broker, 0, 1, 12)
    ask_to_close(broker, 45)
    take_over(broker)
    falsify(broker, HUB_LOAD)
    send(broker, 2)
    correct(broker, take_over(broker), 3)
    assert counts(take_over(broker), HUB_LOAD)[RowKey(START_US, (1,))] == 5
    rebuild(broker)
    task = take_over(broker)
    assert counts(task, HUB_LOAD)[RowKey(START_US, (1,))] == 2
    position = last_marker(task).views["hub_load"]
    assert (position.state, position.corrected_from, position.corrections_again) == ("live", 1, None)


def test_a_repair_stays_a_repair_when_the_tables_are_built_anew(broker: Broker) -> None:
    """The row is what its records make it, before and after; what the repair expected never comes again."""
    send(broker, 0, 1, 12)
    ask_to_close(broker, 45)
    right = stored_rows(new_state(take_over(broker)).views["hub_load"])
    falsify(broker, HUB_LOAD)
    wrong = stored_rows(new_state(take_over(broker)).views["hub_load"])
    key = RowKey(START_US, (1,))
    assert wrong[key] != right[key]
    repair = Correction("run", HUB_LOAD.name, HUB_LOAD.version, key, wrong[key], right[key])
    for _ in range(2):  # a command that is run again changes nothing
        place = TopicPartition(names.corrections_topic("app", PARCELS.name), 0)
        broker.produce(place, SentRecord(None, correction_bytes(repair)))
        assert stored_rows(new_state(take_over(broker)).views["hub_load"])[key] == right[key]
    rebuild(broker)
    task = take_over(broker)
    assert stored_rows(new_state(task).views["hub_load"]) == right
    position = last_marker(task).views["hub_load"]
    assert (position.state, position.corrected_from, position.corrections_again) == ("live", 0, None)


def new_state(task: SimulatedTask) -> TaskState:
    assert task.core is not None
    return task.core.state

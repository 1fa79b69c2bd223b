"""Corrections of tables that are built anew: made again where the rows are those that they were made for."""

from __future__ import annotations

import random

import pytest

from app.base import names
from app.domain.rows import RowKey
from app.testkit.cluster.broker import Broker
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US
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

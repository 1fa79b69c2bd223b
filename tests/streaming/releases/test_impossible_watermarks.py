"""Watermarks that no record can have, as an earlier release took them: told of, and left out of tables built anew."""

from __future__ import annotations

import json

import pytest

from app.base import names
from app.codecs.stored.closings import Mark, encode_mark, mark_key
from app.domain.errors import StateError
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from app.engine.core.restore import Restorer
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.simulation.parcels import HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import START_US
from tests.support.tasks.mended import (
    DEFINITION,
    ask_to_close,
    counts,
    last_marker,
    new_task,
    position,
    rebuild,
    send,
    take_over,
    values,
)

NANOSECONDS_MINUTE = START_US * 999 // MINUTE_US
"""As a minute, an instant that was meant in nanoseconds."""


def test_a_watermark_that_no_record_can_have_is_told_of_instead_of_obeyed(broker: Broker) -> None:
    send(broker, 0)
    closed_for_ever(broker)
    with pytest.raises(StateError, match=r"parcels\.air-0: the state's watermark is \d{19} .*flagfall rebuild"):
        take_over(broker)


def test_a_rebuild_leaves_out_a_watermark_that_no_record_can_have(broker: Broker) -> None:
    """0, 12, 25|closed for ever|26, 31: late then, counted now; what was published stays, and what follows is."""
    send(broker, 0, 12, 25)
    closed_for_ever(broker)
    published = values(broker, names.finals_topic("hub_load"))
    assert len(published) == 3
    send(broker, 26, 31)
    rebuild(broker)
    task = take_over(broker)
    assert [counts(task, HUB_LOAD)[RowKey(START_US + ten * 10 * MINUTE_US, (1,))] for ten in range(4)] == [1, 1, 2, 1]
    assert position(task).watermark_us == START_US + 31 * MINUTE_US
    assert values(broker, names.finals_topic("hub_load")) == published
    assert last_marker(task).views["hub_load"].former_to_us == START_US + 30 * MINUTE_US
    ask_to_close(broker, 90)
    take_over(broker)
    later = values(broker, names.finals_topic("hub_load"))[3:]
    assert [json.loads(final)["window_start_us"] for final in later] == [START_US + 30 * MINUTE_US]


def test_a_mark_that_says_so_is_not_believed_either(broker: Broker) -> None:
    """Wherever it stands: with it, what other tasks closed would be published without this one's rows."""
    send(broker, 0)
    closed_for_ever(broker)
    task, restorer = new_task(broker), Restorer(DEFINITION)
    restorer.read(task.changelog.fetch(0, 100))
    assert restorer.so_far is not None
    assert restorer.so_far.marks == {"hub_load": {}}
    rebuild(broker)
    mark = SentRecord(mark_key(HUB_LOAD, 0), encode_mark(Mark(START_US * 1000, {})))
    broker.produce(TopicPartition(names.closing_topic("app", PARCELS.name), 0), mark)
    task = take_over(broker)
    assert task.core is not None
    assert task.core.state.marks == {"hub_load": {}}


def closed_for_ever(broker: Broker) -> None:
    """By a worker of a release that took any request to advance."""
    with pytest.MonkeyPatch.context() as former:
        former.setattr("app.engine.core.advances.refusal_of_request", lambda *_: None)
        former.setattr("app.engine.core.restore.require_possible", lambda *_: None)
        former.setattr("app.engine.core.results.gathering.is_possible", lambda *_: True)
        ask_to_close(broker, NANOSECONDS_MINUTE)
        take_over(broker)

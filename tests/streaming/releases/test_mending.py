"""Tasks whose topics lost what they had not read yet: mended while no worker runs, on the simulated cluster."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from app.base import names
from app.domain.advance import Advance
from app.domain.errors import StateError
from app.domain.marker import InputPosition, JoinPosition, OffsetRange
from app.domain.records import TopicPartition
from app.domain.rows import RowKey
from app.engine.core.mending.accepting import gaps_of
from app.engine.core.mending.rebuilding import LogNow, Rebuild
from app.testkit.cluster.broker import TOPIC_ID, Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import START_US
from tests.support.tasks.mended import (
    AIR,
    DEFINITION,
    NOTHING,
    accept_loss,
    advances_of,
    ask_to_close,
    counts,
    falsify,
    fates,
    last_marker,
    new_task,
    position,
    rebuild,
    send,
    take_over,
    values,
)


def test_a_task_goes_on_behind_a_loss_that_was_accepted_and_its_ledger_tells_of_the_gap(broker: Broker) -> None:
    send(broker, 0, 1)
    take_over(broker)
    send(broker, 2, 3, 4)
    broker.log(AIR, 0).delete_below(4)
    with pytest.raises(StateError, match="begins at 4, behind the state"):
        take_over(broker)
    assert accept_loss(broker) == {AIR: OffsetRange(2, 4)}
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 3}
    at = position(task)
    assert (at.start_offset, at.next_offset, at.decoded, at.lost_offsets, at.adds_up) == (0, 5, 3, 2, True)


def test_each_loss_that_was_accepted_stays_in_the_ledger(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker)
    for minute in (1, 3):
        send(broker, minute, minute + 1)
        broker.log(AIR, 0).delete_below(broker.log(AIR, 0).end - 1)
        accept_loss(broker)
        take_over(broker)
    at = position(take_over(broker))
    assert at.lost == (OffsetRange(1, 2), OffsetRange(3, 4))
    assert at.adds_up


def test_a_topic_that_holds_other_records_now_has_lost_nothing_that_could_be_accepted(broker: Broker) -> None:
    send(broker, 0)
    task = take_over(broker)
    anew = {topic: InputPosition("another", 100, 100) for topic in DEFINITION.topics}
    assert gaps_of(last_marker(task), anew) == {}


def test_a_loss_that_is_accepted_twice_is_accepted_once(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker)
    send(broker, 1, 2)
    broker.log(AIR, 0).delete_below(2)
    accept_loss(broker)
    assert accept_loss(broker) == {}


def test_tables_that_were_falsified_are_built_anew_and_the_ledger_is_counted_again(broker: Broker) -> None:
    send(broker, 0, 1, 12)
    broker.produce(TopicPartition(AIR, 0), SentRecord(None, b"damaged"))
    task = take_over(broker)
    before, inputs = counts(task, HUB_LOAD), last_marker(task).inputs
    falsify(broker, HUB_LOAD)
    assert counts(take_over(broker), HUB_LOAD) != before
    rebuild(broker)
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == before
    assert counts(task, CARRIERS) == {RowKey(None, (None,)): 3}
    assert last_marker(task).inputs == inputs
    assert len(values(broker, names.quarantine_topic("app"))) == 1


def test_watermarks_are_raised_where_they_were_and_no_request_is_taken_twice(broker: Broker) -> None:
    """|0, 1 deleted|asked to close|late|: what was late stays late, though the log does not say why any more."""
    send(broker, 0, 1)
    ask_to_close(broker, 60)
    take_over(broker)
    send(broker, 2)
    task = take_over(broker)
    late, advances = fates(task).late, values(broker, names.advances_topic("app"))
    assert late == 1
    broker.log(AIR, 0).delete_below(2)
    rebuild(broker)
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == {}
    assert (fates(task).late, position(task).watermark_us) == (1, START_US + 60 * MINUTE_US)
    assert values(broker, names.advances_topic("app")) == advances


def test_records_that_were_lost_before_they_were_read_need_not_be_accepted_to_be_left_out(broker: Broker) -> None:
    send(broker, 0, 1)
    take_over(broker)
    send(broker, 2, 3, 4)
    broker.log(AIR, 0).delete_below(4)
    rebuild(broker)
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == {RowKey(START_US, (1,)): 1}
    at = position(task)
    assert (at.start_offset, at.next_offset, at.decoded, at.lost, at.adds_up) == (4, 5, 1, (), True)


def test_a_loss_that_was_accepted_is_no_part_of_tables_that_begin_behind_it(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker)
    send(broker, 1, 2)
    broker.log(AIR, 0).delete_below(2)
    accept_loss(broker)
    rebuild(broker)
    at = position(take_over(broker))
    assert (at.start_offset, at.decoded, at.lost, at.adds_up) == (2, 1, (), True)


def test_what_was_published_for_closed_windows_is_not_published_again(broker: Broker) -> None:
    send(broker, 0, 12)
    ask_to_close(broker, 35)
    closed_to_us = last_marker(take_over(broker)).views["hub_load"].closed_to_us
    published = values(broker, names.finals_topic("hub_load"))
    assert len(published) == 1
    rebuild(broker)
    assert last_marker(take_over(broker)).views["hub_load"].former_to_us == closed_to_us is not None
    assert values(broker, names.finals_topic("hub_load")) == published
    ask_to_close(broker, 60)
    take_over(broker)
    assert len(values(broker, names.finals_topic("hub_load"))) == 2


@pytest.mark.parametrize("seed", range(10))
def test_a_rebuild_that_is_broken_off_anywhere_and_done_again_counts_each_record_once(
    broker: Broker, seed: int
) -> None:
    """Whatever a worker had built before it was killed."""
    draws = random.Random(seed)
    send(broker, 0, 1, 12)
    ask_to_close(broker, 35)
    expected = counts(take_over(broker), HUB_LOAD)
    for _ in range(3):
        rebuild(broker)
        task = new_task(broker)
        for _ in range(draws.randrange(40)):
            task.step()
    task = take_over(broker)
    assert counts(task, HUB_LOAD) == expected
    assert fates(task).applied == 3
    assert len(values(broker, names.finals_topic("hub_load"))) == 1


def test_what_was_closed_by_an_advance_stays_closed_in_a_topic_that_was_created_anew(broker: Broker) -> None:
    send(broker, 0, 1)
    ask_to_close(broker, 60)
    take_over(broker)
    begun = rebuild(broker, {AIR: LogNow("another", 0, 7)})
    assert begun.to_offsets[AIR] == 0
    at = last_marker(new_task(broker)).inputs[AIR]
    assert at == InputPosition("another", 0, 0, START_US + 60 * MINUTE_US, skews=())
    told = [advance for advance in advances_of(new_task(broker), AIR) if advance.at_offset == 0]
    assert told == [Advance(AIR, 0, 0, START_US + 60 * MINUTE_US)]


def test_a_log_that_ends_before_the_state_is_built_to_its_end(broker: Broker) -> None:
    send(broker, 0, 1)
    take_over(broker)
    rebuild(broker, {AIR: LogNow(TOPIC_ID, 0, 1)})
    at = last_marker(new_task(broker)).inputs[AIR]
    assert (at.next_offset, at.decoded, at.watermark_us) == (1, 1, START_US)


def test_requests_are_left_alone_unless_their_log_is_another(broker: Broker) -> None:
    ask_to_close(broker, 60)
    requests = DEFINITION.advance_requests
    before = last_marker(take_over(broker)).inputs[requests]
    rebuild(broker)
    assert last_marker(new_task(broker)).inputs[requests] == before
    rebuild(broker, {requests: LogNow("another", 3, 9)})
    assert last_marker(new_task(broker)).inputs[requests] == InputPosition("another", 3, 3)


def test_halves_that_name_offsets_of_other_records_now_are_refused_in_words(broker: Broker) -> None:
    send(broker, 0)
    marker = last_marker(take_over(broker))
    marker = replace(marker, joins={"signed": JoinPosition(1, "00000000", start={AIR: 0})})
    whole = {topic: LogNow(at.topic_id, at.start_offset, at.next_offset) for topic, at in marker.inputs.items()}
    advances = dict.fromkeys((topic.name for topic in PARCELS.topics), ())
    Rebuild(DEFINITION, marker, whole, advances, NOTHING)
    with pytest.raises(
        StateError, match=r"parcels\.air-0: joins or alerts hold records by offsets that are others now"
    ):
        Rebuild(DEFINITION, marker, whole | {AIR: LogNow("another", 0, 0)}, advances, NOTHING)

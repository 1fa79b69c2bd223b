"""Tasks whose topics lost what they had not read yet: mended while no worker runs, on the simulated cluster."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from app.base import names
from app.codecs.stored.advance_requests import encode_request
from app.codecs.stored.changelog import decode_rows, encode_rows, marker_key
from app.codecs.stored.closings import Mark, encode_mark, mark_key
from app.codecs.stored.corrections import correction_bytes
from app.codecs.stored.marker import decode_marker
from app.codecs.stored.row_keys import row_prefix
from app.domain.advance import Advance, AdvanceRequest
from app.domain.corrections.refeed import Fed, Standing, plan_refeed
from app.domain.errors import StateError
from app.domain.marker import Fates, InputPosition, JoinPosition, Marker, OffsetRange
from app.domain.records import Record, TopicPartition
from app.domain.rows import RowKey
from app.domain.view import View
from app.engine.core.batch import Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending.accepting import accept, gaps_of
from app.engine.core.mending.rebuilding import LogNow, Rebuild
from app.engine.core.restore import Restorer
from app.testkit.cluster.broker import TOPIC_ID, Broker
from app.testkit.cluster.partition_log import Sent
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.encoding import encode, filled
from app.testkit.received import stored_rows
from app.testkit.simulation.parcels import CARRIERS, HUB_LOAD, MINUTE_US, PARCELS
from app.testkit.simulation.samples import SCHEMA_IDS, SCHEMAS, START_US

AIR = "parcels.air"
NOTHING = LogNow(TOPIC_ID, 0, 0)
DEFINITION = TaskDefinition("app", (PARCELS,), (HUB_LOAD, CARRIERS), finals=("hub_load",), task_count=1)


@pytest.fixture
def broker() -> Broker:
    return Broker(partitions=1)


def send(broker: Broker, *minutes: int) -> None:
    for minute in minutes:
        at_us = START_US + minute * MINUTE_US
        parcel = {"parcel_id": "p", "hub": 1, "scanned_at_us": at_us, "delivered_at_us": at_us}
        value = encode(PARCELS, SCHEMA_IDS[PARCELS.name], parcel)
        broker.produce(TopicPartition(AIR, 0), Sent(None, value, (), at_us // 1000))


def new_task(broker: Broker) -> SimulatedTask:
    return SimulatedTask(broker, DEFINITION, 0, SCHEMAS, random.Random(1))


def take_over(broker: Broker) -> SimulatedTask:
    """A worker with nothing left to do."""
    task = new_task(broker)
    run_until_idle([task])
    return task


def last_marker(task: SimulatedTask) -> Marker:
    stored = [e.record for e in task.changelog.committed() if e.record is not None]
    key = marker_key(DEFINITION.number)
    return decode_marker([record.value or b"" for record in stored if record.key == key][-1])


def write(task: SimulatedTask, transaction: Transaction) -> None:
    """As `app.engine.drive.ownership.mending` does, in the place of a worker."""
    producer = task.fence()
    for key, value in transaction.changelog:
        producer.send(TopicPartition(task.changelog.topic, 0), Sent(key, value))
    for output in transaction.outputs:
        producer.send(TopicPartition(output.topic, 0), Sent(output.key, output.value))
    producer.commit()
    while task.broker.mark_one(task.transactional_id):
        pass


def accept_loss(broker: Broker) -> dict[str, OffsetRange]:
    task = new_task(broker)
    marker = last_marker(task)
    gaps = gaps_of(marker, task.starts())
    write(task, accept(DEFINITION, marker, gaps))
    return gaps


def rebuild(broker: Broker, logs: Mapping[str, LogNow] = MappingProxyType({})) -> Rebuild:
    """`logs`: those that hold something else than they seem to."""
    task = new_task(broker)
    there = {topic: LogNow(TOPIC_ID, task.log(topic).start, task.log(topic).end) for topic in DEFINITION.topics}
    advances = {topic.name: advances_of(task, topic.name) for topic in PARCELS.topics}
    told = task.log(names.corrected_topic("app"))
    outcomes = LogNow(TOPIC_ID, told.start, told.end)
    begun = Rebuild(DEFINITION, last_marker(task), there | dict(logs), advances, outcomes)
    while (piece := begun.piece) is not None:
        begun.take(task.log(piece.topic).fetch(piece.from_offset, 2, until=piece.to_offset), SCHEMAS)
    write(task, begun.transaction())
    return begun


def advances_of(task: SimulatedTask, topic: str) -> list[Advance]:
    told = (Advance(**json.loads(value)) for value in values(task.broker, names.advances_topic("app")))
    return [advance for advance in told if advance.topic == topic]


def values(broker: Broker, topic: str) -> list[bytes]:
    """Of all committed records."""
    return [entry.record.value or b"" for _, entry in broker.committed(topic) if entry.record is not None]


def ask_to_close(broker: Broker, minute: int) -> None:
    """Please raise all watermarks, behind what is there now."""
    for topic in PARCELS.topics:
        request = AdvanceRequest(topic.name, 0, START_US + minute * MINUTE_US, broker.log(topic.name, 0).end)
        broker.produce(TopicPartition(DEFINITION.advance_requests, 0), Sent(None, encode_request(request)))


def counts(task: SimulatedTask, view: View) -> dict[RowKey, int]:
    assert task.core is not None
    return {key: cells[0] for key, cells in stored_rows(task.core.state.views[view.name]).items()}


def position(task: SimulatedTask) -> InputPosition:
    assert task.core is not None
    return task.core.state.marker.inputs[AIR]


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
    broker.produce(TopicPartition(AIR, 0), Sent(None, b"damaged"))
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
    take_over(broker)
    published = values(broker, names.finals_topic("hub_load"))
    assert len(published) == 1
    rebuild(broker)
    take_over(broker)
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
    mark = Sent(mark_key(HUB_LOAD, 0), encode_mark(Mark(START_US * 1000, {})))
    broker.produce(TopicPartition(names.closing_topic("app", PARCELS.name), 0), mark)
    task = take_over(broker)
    assert task.core is not None
    assert task.core.state.marks == {"hub_load": {}}


def closed_for_ever(broker: Broker) -> None:
    """By a worker of a release that took any request to advance."""
    with pytest.MonkeyPatch.context() as former:
        former.setattr("app.engine.core.advances.refusal", lambda *_: None)
        former.setattr("app.engine.core.restore.require_possible", lambda *_: None)
        former.setattr("app.engine.core.results.gathering.is_possible", lambda *_: True)
        ask_to_close(broker, NANOSECONDS_MINUTE)
        take_over(broker)


def corrected_tables(broker: Broker) -> None:
    """Three parcels, two of the first ten minutes; then a late one of these, which is re-fed, and one that is not."""
    send(broker, 0, 1, 12)
    ask_to_close(broker, 45)
    take_over(broker)
    send(broker, 2, 3)
    correct(broker, take_over(broker), 3)
    take_over(broker)


def correct(broker: Broker, task: SimulatedTask, offset: int) -> None:
    """Re-feed a late record."""
    assert task.core is not None
    state = task.core.state
    parcel = filled(PARCELS, {"parcel_id": "p", "hub": 1, "scanned_at_us": START_US + 2 * MINUTE_US})
    standing = Standing(state.marker, stored_rows(state.views["hub_load"]), frozenset())
    (correction,) = plan_refeed(HUB_LOAD, standing, [Fed(Record(AIR, 0, offset, 0, parcel), True)], "run").corrections
    place = TopicPartition(names.corrections_topic("app", PARCELS.name), 0)
    broker.produce(place, Sent(None, correction_bytes(correction)))


def falsify(broker: Broker, view: View) -> None:
    """Double what every row says, in the changelog."""
    task = new_task(broker)
    rows = {e.record.key: e.record.value for e in task.changelog.committed() if e.record is not None}
    marker = marker_key(DEFINITION.number)
    producer = task.fence()
    for key, value in rows.items():
        if key is not None and key.startswith(row_prefix(view)) and value is not None:
            (falsified,) = encode_rows(decode_rows([value], len(view.cells)) * 2)
            producer.send(TopicPartition(task.changelog.topic, 0), Sent(key, falsified))
    producer.send(TopicPartition(task.changelog.topic, 0), Sent(marker, rows[marker]))
    producer.commit()
    while broker.mark_one(task.transactional_id):
        pass


def fates(task: SimulatedTask) -> Fates:
    assert task.core is not None
    return task.core.state.marker.views[HUB_LOAD.name].fates.get(AIR, Fates())

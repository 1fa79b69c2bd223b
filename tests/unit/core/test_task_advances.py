"""How a task's core takes requests to advance its watermarks: raised, refused or waited for (rule 8)."""

from __future__ import annotations

import json
import random

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK, YEAR_2000_US, YEAR_2100_US
from app.domain.marker import InputPosition
from app.domain.oracle.view_fold import Folded, fold
from app.engine.core.advances import LogEnds
from app.engine.core.batch import Transaction
from app.engine.core.task import TaskCore
from app.rides.ride import HOUR_US
from tests.support.material.histories import START_US, TOPIC_NAMES, encode, random_log, random_splits
from tests.support.material.views import ALL_VIEWS
from tests.support.tasks.cores import new_core, rows_of
from tests.support.tasks.taken import assert_ledgers, take, to
from tests.support.tasks.task_batches import GREEN, PARTITION, REQUESTS, YELLOW, batch_of, request, ride


def test_an_advance_holds_from_the_task_s_own_position_and_is_written_down_so() -> None:
    core = new_core(PARTITION)
    take(core, batch_of(YELLOW, [encode(ride())] * 5))
    transaction = take(core, batch_of(REQUESTS, [request(YELLOW, START_US + HOUR_US)]))
    (output,) = transaction.outputs
    assert (output.topic, output.key) == ("flagfall.advances", f"{YELLOW}-3".encode())
    assert orjson.loads(output.value or b"") == {
        "topic": YELLOW,
        "partition": PARTITION,
        "at_offset": 5,
        "watermark_us": START_US + HOUR_US,
    }
    marker = core.state.marker
    assert marker.inputs[YELLOW].watermark_us == START_US + HOUR_US
    assert (marker.inputs[YELLOW].next_offset, marker.inputs[REQUESTS].next_offset) == (5, 1)
    assert marker.inputs[GREEN].watermark_us == NO_WATERMARK


@pytest.mark.parametrize("lower_by", [0, 1])
def test_a_request_at_or_below_the_watermark_changes_nothing_but_its_own_position(lower_by: int) -> None:
    core = new_core(PARTITION)
    take(core, batch_of(YELLOW, [encode(ride())]))
    before = core.state.marker.inputs[YELLOW]
    transaction = take(core, batch_of(REQUESTS, [request(YELLOW, START_US - lower_by)]))
    assert transaction.outputs == []
    assert core.state.marker.inputs[YELLOW] == before
    assert core.state.marker.inputs[REQUESTS] == InputPosition("id", 0, 1, decoded=1)


def test_of_several_requests_in_a_batch_each_that_raises_is_written() -> None:
    core = new_core(PARTITION)
    wanted = [START_US + 5, START_US + 3, START_US + 9]
    transaction = take(core, batch_of(REQUESTS, [request(YELLOW, at) for at in wanted]))
    assert [orjson.loads(o.value or b"")["watermark_us"] for o in transaction.outputs] == [START_US + 5, START_US + 9]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "undecodable"),
        (b"", "undecodable"),
        (b"not JSON", "undecodable"),
        (b"[1]", "undecodable"),
        (b"5", "undecodable"),
        (b"[" * 4_000, "undecodable"),
        (request() + b" " * 5_000, "undecodable"),
        (b'{"topic": "rides.yellow", "partition": 3}', "undecodable"),
        (b'{"topic": ["rides.yellow"], "partition": 3, "watermark_us": 1}', "undecodable"),
        (request(watermark_us="soon"), "undecodable"),
        (request(watermark_us=1.5), "undecodable"),
        (request(watermark_us=True), "undecodable"),
        (request(watermark_us=2**64), "undecodable"),
        (request(not_before_offset="last"), "undecodable"),
        (request("rides.nowhere"), "out_of_bounds:topic"),
        (request(REQUESTS), "out_of_bounds:topic"),
        (request(partition=4), "out_of_bounds:partition"),
        (request(watermark_us=2**63), "out_of_bounds:watermark_us"),
        (request(watermark_us=START_US * 1000), "out_of_bounds:watermark_us"),
        (request(watermark_us=YEAR_2100_US), "out_of_bounds:watermark_us"),
        (request(watermark_us=YEAR_2000_US - 1), "out_of_bounds:watermark_us"),
        (request(not_before_offset=-1), "out_of_bounds:not_before_offset"),
        (request(not_before_offset=2**44), "out_of_bounds:not_before_offset"),
    ],
)
def test_a_request_that_is_not_admitted_is_quarantined_and_the_next_one_taken(value: bytes | None, reason: str) -> None:
    """One for the requests' own topic would put the task back to the position before it, for ever."""
    core = new_core(PARTITION)
    transaction = take(core, batch_of(REQUESTS, [value, request()]))
    refused, taken = transaction.outputs
    assert (refused.topic, refused.value) == ("flagfall.quarantine", value)
    assert dict(refused.headers)["flagfall-reason"] == reason.encode()
    assert taken.topic == "flagfall.advances"
    assert core.state.marker.inputs[REQUESTS] == InputPosition("id", 0, 2, decoded=1, quarantined=1)
    assert core.state.marker.inputs[YELLOW].watermark_us == START_US


@pytest.mark.parametrize("watermark_us", [YEAR_2000_US, YEAR_2100_US - 1])
def test_the_bounds_of_a_source_s_instants_are_watermarks(watermark_us: int) -> None:
    core = new_core(PARTITION)
    (taken,) = take(core, batch_of(REQUESTS, [request(watermark_us=watermark_us)])).outputs
    assert taken.topic == "flagfall.advances"


def test_a_request_for_an_offset_that_the_log_does_not_have_is_refused_once_the_log_s_end_is_known() -> None:
    """While it is not known, or was asked for before the request was there, the request waits."""
    core = new_core(PARTITION)
    beyond, reachable = request(not_before_offset=8), request(not_before_offset=7)
    both = batch_of(REQUESTS, [beyond, reachable], base=0)
    core.log_ends = LogEnds(0, {YELLOW: 7, GREEN: 0})
    assert core.wants_log_ends(both)
    assert not core.is_due(both)
    core.log_ends = LogEnds(2, {YELLOW: 7, GREEN: 0})
    assert not core.wants_log_ends(both)
    assert core.is_due(both.until(1))
    assert not core.is_due(both)  # the log has offset 7, the task has not
    take(core, batch_of(YELLOW, [encode(ride())] * 7))
    assert core.is_due(both)
    (refused,) = take(core, both).outputs  # the rides have brought the watermark that the other asks for
    assert dict(refused.headers)["flagfall-reason"] == b"unreachable_offset"
    assert core.state.marker.inputs[REQUESTS] == InputPosition("id", 0, 2, decoded=1, quarantined=1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)

FIELDS = {
    "topic": st.sampled_from([YELLOW, REQUESTS, ""]) | JSON,
    "partition": st.just(PARTITION) | JSON,
    "watermark_us": st.integers(START_US - 10**9, START_US + 10**9) | st.integers() | JSON,
    "not_before_offset": st.integers(-1, 9) | st.integers() | JSON,
}


@given(
    value=st.binary()
    | st.fixed_dictionaries({}, optional=FIELDS).map(lambda told: json.dumps(told).encode())
    | JSON.map(lambda told: json.dumps(told).encode()),
    end=st.integers(0, 10),
)
def test_whatever_a_request_says_it_is_taken_refused_or_waits_for_records_that_are_there(
    value: bytes, end: int
) -> None:
    core = new_core(PARTITION)
    batch = batch_of(REQUESTS, [value])
    if core.wants_log_ends(batch):
        core.log_ends = LogEnds(1, dict.fromkeys(TOPIC_NAMES, end))
    assert not core.wants_log_ends(batch)
    if not core.is_due(batch):
        assert json.loads(value)["not_before_offset"] <= end
        return
    for advance in advances_written([take(core, batch)]):
        assert json.loads(value).get("not_before_offset", 0) <= advance.at_offset == 0
    position = core.state.marker.inputs[REQUESTS]
    assert position.adds_up
    assert position.next_offset == 1
    for topic in TOPIC_NAMES:
        at_us = core.state.marker.inputs[topic].watermark_us
        assert at_us == NO_WATERMARK or YEAR_2000_US <= at_us < YEAR_2100_US


def advances_written(transactions: list[Transaction]) -> list[Advance]:
    return [
        Advance(**orjson.loads(output.value or b""))
        for transaction in transactions
        for output in to("flagfall.advances", transaction)
    ]


@given(seed=st.integers(0, 2**32))
def test_advances_between_batches_are_what_the_naive_fold_makes_of_them(seed: int) -> None:
    """The fold is given what was written down, as a recomputation would be."""
    rng = random.Random(seed)
    logs = [random_log(rng, topic, PARTITION, 60) for topic in (YELLOW, GREEN)]
    core, transactions, asked = new_core(PARTITION), list[Transaction](), 0
    for log in logs:
        for base, until in random_splits(rng, log.next_offset):
            if rng.random() < 0.5:
                wanted = request(rng.choice((YELLOW, GREEN)), START_US + rng.randint(-2, 12) * HOUR_US)
                transactions.append(take(core, batch_of(REQUESTS, [wanted], base=asked)))
                asked += 1
            transactions.append(take(core, log.batch(base, until)))
    records = [record for log in logs for record in log.records]
    for view in ALL_VIEWS:
        expected = fold(view, records, advances_written(transactions))
        assert rows_of(core, view) == dict(expected.rows[PARTITION])
        _assert_fates(core, view.name, expected)
    assert_ledgers(core)


def _assert_fates(core: TaskCore, view: str, expected: Folded) -> None:
    for topic, fates in core.state.marker.views[view].fates.items():
        told = (fates.applied, fates.late, fates.out_of_scope)
        kinds = (expected.applied, expected.late, expected.out_of_scope)
        assert told == tuple(sum(record.topic == topic for record in kind) for kind in kinds)


def test_a_request_is_due_once_the_task_stands_at_the_offset_that_it_names() -> None:
    core = new_core(PARTITION)
    asked = batch_of(REQUESTS, [request(not_before_offset=2)])
    assert not core.is_due(asked)
    take(core, batch_of(YELLOW, [encode(ride())] * 2))
    assert core.is_due(asked)


def test_rides_and_unreadable_requests_are_always_due() -> None:
    core = new_core(PARTITION)
    assert core.is_due(batch_of(YELLOW, [encode(ride())]))
    assert core.is_due(batch_of(REQUESTS, [b"?", request(not_before_offset="soon"), request()]))

"""A task's core: what it writes for refused and late records, what it keeps, and that its ledgers add up."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.codecs.stored.changelog import BLOCK, MARKER, ROW, decode_block, kind_of, view_of
from app.codecs.stored.marker import decode_marker
from app.domain.errors import StateError
from app.domain.fingerprint import BLOCK_SIZE, Origin, mix, pack, signed
from app.domain.marker import MOST_SCHEMAS, InputPosition
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.rows import RowKey
from app.domain.rules.epochs import GraceEpoch, SkewEpoch
from app.domain.source import MAX_TEXT_BYTES
from app.engine.core.batch import Output, Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.rides.ride import HOUR_US, RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from tests.support.material.histories import (
    SCHEMA,
    SCHEMAS,
    START_US,
    TOPIC_NAMES,
    Log,
    encode,
    random_log,
    random_splits,
)
from tests.support.material.views import ALL_VIEWS, KNOWN_VIEWS
from tests.support.tasks.cores import new_core, rows_of, run
from tests.support.tasks.taken import assert_ledgers, take, to
from tests.support.tasks.task_batches import GREEN, PARTITION, REQUESTS, YELLOW, batch_of, ride


def test_a_quarantined_record_keeps_its_bytes_and_headers_and_says_where_it_stood_and_why() -> None:
    damaged = encode(ride())[:-1]
    batch = batch_of(
        YELLOW,
        [encode(ride()), damaged],
        base=0,
        keys=[b"1", b"132"],
        headers=[(), (("trace", b"\xff\x00"),)],
        timestamp_ms=START_US // 1000,
    )
    (output,) = take(new_core(PARTITION, KNOWN_VIEWS), batch).outputs
    assert output == Output(
        "flagfall.quarantine",
        b"132",
        damaged,
        (
            ("trace", b"\xff\x00"),
            ("flagfall-topic", YELLOW.encode()),
            ("flagfall-partition", b"3"),
            ("flagfall-offset", b"1"),
            ("flagfall-timestamp-ms", str(START_US // 1000).encode()),
            ("flagfall-reason", b"undecodable"),
        ),
    )


def test_the_marker_tells_by_which_schemas_records_were_read() -> None:
    """Those that the registry has: another worker, and Spark, must find the same ones."""
    core = new_core(PARTITION)
    unknown = b"\0\0\0\0\x63" + encode(ride())[5:]
    take(core, batch_of(YELLOW, [encode(ride()), unknown, b"\x01"], base=0))
    assert core.state.marker.schemas == {str(SCHEMA.id): SCHEMA.fingerprint}
    before = core.state.marker
    take(core, batch_of(YELLOW, [encode(ride())], base=3))
    assert core.state.marker.schemas is before.schemas


def test_a_marker_has_room_for_some_schemas() -> None:
    marker = new_core(PARTITION).state.marker
    many = {str(number): "f" for number in range(2 * MOST_SCHEMAS)}
    full = marker.with_schemas({"7": "a"}).with_schemas(many)
    assert (len(full.schemas), full.schemas["7"]) == (MOST_SCHEMAS, "a")
    assert full.with_schemas({"4711": "b"}) is full


def test_a_tombstone_is_quarantined_without_key_and_value() -> None:
    (output,) = take(new_core(PARTITION), batch_of(YELLOW, [None])).outputs
    assert (output.key, output.value, output.headers[-1]) == (None, None, ("flagfall-reason", b"null_value"))


def test_each_refused_record_is_written_with_its_own_reason_in_the_order_of_the_log() -> None:
    values = [
        b"",
        encode(ride(passenger_count=256)),
        encode(ride()),
        encode(ride(START_US + 10**9 * 1000 + 600_000_001)),
        encode(ride(vendor="x" * (MAX_TEXT_BYTES + 1))),
        encode(ride(dropoff_at_us=-(2**63))),
        b"\x00\x00\x00\x00\x63x",
    ]
    core = new_core(PARTITION)
    outputs = to("flagfall.quarantine", take(core, batch_of(YELLOW, values)))
    assert [(dict(o.headers)["flagfall-offset"], dict(o.headers)["flagfall-reason"]) for o in outputs] == [
        (b"0", b"too_short"),
        (b"1", b"out_of_bounds:passenger_count"),
        (b"3", b"skewed"),
        (b"4", b"out_of_bounds:vendor"),
        (b"5", b"out_of_bounds:dropoff_at_us"),
        (b"6", b"unknown_schema"),
    ]
    take(core, batch_of(YELLOW, [b""], base=len(values)))
    assert (core.state.quarantined[YELLOW, "too_short"], core.state.quarantined.total()) == (2, len(outputs) + 1)


@pytest.mark.parametrize("timestamp_ms", [2**62, 2**63 - 1])
def test_a_kafka_timestamp_far_ahead_does_not_make_a_record_skewed(timestamp_ms: int) -> None:
    """A product of it with 1000 would wrap around, and the record look stamped long ago."""
    core = new_core(PARTITION, KNOWN_VIEWS)
    assert take(core, batch_of(YELLOW, [encode(ride())], timestamp_ms=timestamp_ms)).outputs == []
    told = Record(YELLOW, PARTITION, 0, timestamp_ms, ride())
    assert rows_of(core, ZONE_DEMAND) == dict(fold(ZONE_DEMAND, [told]).rows[PARTITION])


def test_a_late_record_is_written_once_with_all_the_views_it_was_late_for() -> None:
    """Late for the views by window; the running totals take it. Damage before it shifts no index."""
    on_time, late = encode(ride(START_US)), encode(ride(START_US - 24 * HOUR_US))
    batch = batch_of(GREEN, [on_time, b"", late], base=0, keys=[b"a", b"b", b"c"])
    transaction = take(new_core(PARTITION, KNOWN_VIEWS), batch)
    (output,) = to("flagfall.late", transaction)
    headers = dict(output.headers)
    assert (output.key, output.value, headers["flagfall-offset"]) == (b"c", late, b"2")
    assert headers["flagfall-views"] == b"zone_demand,everything,tidy,shifted,hours,hopping,uneven"
    assert headers["flagfall-topic"] == GREEN.encode()
    assert "flagfall-reason" not in headers


def test_a_record_late_for_some_views_only_names_those() -> None:
    """Hours with graces of a minute to an hour; zone_demand has three hours of it, the day is still on."""
    values = [encode(ride(START_US)), encode(ride(START_US - 2 * HOUR_US))]
    (output,) = to("flagfall.late", take(new_core(PARTITION, KNOWN_VIEWS), batch_of(YELLOW, values)))
    assert dict(output.headers)["flagfall-views"] == b"everything,tidy,shifted,hours,hopping"


def test_the_marker_is_the_last_record_of_the_changelog_and_the_only_one_of_its_kind() -> None:
    core = new_core(PARTITION)
    transaction = take(core, batch_of(YELLOW, [encode(ride())]))
    kinds = [kind_of(key) for key, _ in transaction.changelog]
    assert sorted(set(kinds)) == [ROW, MARKER, BLOCK]
    assert [at for at, kind in enumerate(kinds) if kind == MARKER] == [len(kinds) - 1]
    value = transaction.changelog[-1][1]
    assert value is not None
    assert decode_marker(value) == transaction.marker == core.state.marker
    assert core.state.marker.sequence == 1


def test_a_batch_of_control_records_only_still_moves_the_position() -> None:
    empty = replace(batch_of(YELLOW, []), next_offset=4)
    core = new_core(PARTITION)
    assert [kind_of(key) for key, _ in take(core, empty).changelog] == [MARKER]
    position = core.state.marker.inputs[YELLOW]
    assert (position.next_offset, position.not_records, position.adds_up) == (4, 4, True)


def test_a_batch_across_the_end_of_a_block_adds_to_both_blocks() -> None:
    """offsets  65,535 | 65,536 65,537"""
    core = new_core(PARTITION)
    inputs = core.state.marker.inputs
    start = InputPosition("id", BLOCK_SIZE - 1, BLOCK_SIZE - 1)
    core.state.marker = replace(core.state.marker, inputs={**inputs, YELLOW: start})
    transaction = take(core, batch_of(YELLOW, [encode(ride())] * 3, base=BLOCK_SIZE - 1))
    found = [decode_block(k, v) for k, v in transaction.changelog if v is not None and kind_of(k) == BLOCK]
    mixes = [mix(pack(Origin(1, PARTITION, BLOCK_SIZE - 1 + n))) for n in range(3)]
    assert [(key.block, count, total) for key, count, total in found if key.view_number == VENDOR_TRIPS.number] == [
        (0, 1, mixes[0]),
        (1, 2, signed(mixes[1] + mixes[2])),
    ]


def test_a_gap_before_a_batch_is_refused_with_both_offsets() -> None:
    core = new_core(PARTITION)
    take(core, batch_of(YELLOW, [encode(ride())] * 2))
    with pytest.raises(StateError, match="begins at offset 3, but the state covers only what is below 2"):
        core.plan(core.read([batch_of(YELLOW, [encode(ride())], base=3)], SCHEMAS))


@given(seed=st.integers(0, 2**32))
def test_both_ledgers_add_up_and_the_outputs_are_what_they_count(seed: int) -> None:
    rng = random.Random(seed)
    core, transactions = new_core(PARTITION), list[Transaction]()
    log = random_log(rng, YELLOW, PARTITION, 80)
    for base, until in random_splits(rng, log.next_offset):
        transactions.append(take(core, log.batch(base, until)))
        assert_ledgers(core)
    outputs = [output for transaction in transactions for output in transaction.outputs]
    quarantined = [output for output in outputs if output.topic == "flagfall.quarantine"]
    late = [dict(output.headers) for output in outputs if output.topic == "flagfall.late"]
    assert len(quarantined) == core.state.marker.inputs[YELLOW].quarantined
    assert len({headers["flagfall-offset"] for headers in late}) == len(late)
    for view in ALL_VIEWS:
        named = sum(view.name.encode() in headers["flagfall-views"].split(b",") for headers in late)
        assert named == core.state.marker.views[view.name].fates[YELLOW].late


def test_blocks_hold_what_all_views_applied_and_no_more() -> None:
    """Over many batches: a view's blocks have the count and the fingerprint of its rows."""
    core, log = new_core(PARTITION), random_log(random.Random(5), YELLOW, PARTITION, 200)
    for base in range(0, log.next_offset, 20):
        take(core, log.batch(base, base + 20))
    for view in ALL_VIEWS:
        blocks = [total for key, total in core.state.blocks.items() if view_of(key) == (view.number, view.version)]
        rows = rows_of(core, view).values()
        assert sum(count for count, _ in blocks) == core.state.marker.views[view.name].fates[YELLOW].applied
        assert signed(sum(total for _, total in blocks)) == signed(sum(cells[1] for cells in rows))


def test_an_empty_state_begins_where_its_topics_do_and_names_the_rules_it_obeys() -> None:
    definition = TaskDefinition("flagfall", (RIDES,), (ZONE_DEMAND,))
    assert definition.topics == (*TOPIC_NAMES, REQUESTS, "flagfall.rides.corrections")
    state = new_state(definition, 1, {topic: InputPosition("id", 40, 40) for topic in definition.topics})
    assert state.partition == 1
    assert state.marker_offset == -1
    assert state.marker.views["zone_demand"].start == dict.fromkeys(TOPIC_NAMES, 40)
    assert {state.marker.inputs[topic].skews for topic in TOPIC_NAMES} == {(SkewEpoch(40, 600),)}
    assert set(state.marker.views["zone_demand"].graces.values()) == {(GraceEpoch(40, 3 * 3600),)}
    assert not state.is_ahead


def test_a_row_s_key_is_found_again_whichever_batch_touches_it() -> None:
    core = new_core(PARTITION)
    take(core, batch_of(YELLOW, [encode(ride(vendor=None))]))
    take(core, batch_of(GREEN, [encode(ride(vendor=None))]))
    assert {key: cells[0] for key, cells in rows_of(core, VENDOR_TRIPS).items()} == {RowKey(None, (None,)): 2}


def test_a_schema_that_is_asked_for_must_be_there() -> None:
    """The runner fetches them first; a missing entry is its fault and never a reason to quarantine."""
    with pytest.raises(KeyError):
        new_core(PARTITION).read([batch_of(YELLOW, [encode(ride())])], {SCHEMA.id + 1: None})


def test_logs_of_the_tests_hold_what_they_should() -> None:
    """Else the laws above might be proved over logs without damage, late records or gaps."""
    log: Log = random_log(random.Random(1), YELLOW, PARTITION, 400)
    core = new_core(PARTITION)
    run(core, [log], random.Random(2))
    position, fates = core.state.marker.inputs[YELLOW], core.state.marker.views["everything"].fates[YELLOW]
    assert min(position.decoded, position.quarantined, position.not_records) > 0
    assert min(fates.applied, fates.late) > 0

"""What a harness refuses, in words: records, views and topics that it does not have, and a test's own mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import DefinitionError
from app.domain.source import SourceTopic
from app.rides.views import ZONE_DEMAND
from app.testkit.encoding import RecordError
from app.testkit.harness import Harness, HarnessError
from app.testkit.simulation.parcels import HUB_LOAD, PARCELS, RECEIPTS, STARS
from app.testkit.simulation.sent_on import SIGNED
from tests.support.material.parcel import AIR, parcel


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"colour": "red"}, "no column 'colour'; there are carrier, delivered_at_us"),
        ({"parcel_id": None}, "column 'parcel_id' may not be null"),
        ({"hub": "three"}, "column 'hub' is identifier: expected int, got 'three'"),
        ({"hub": True}, "column 'hub' is identifier: expected int, got True"),
        ({"fragile": 1}, "column 'fragile' is flag: expected bool, got 1"),
        ({"weight_grams": 1 << 63}, "column 'weight_grams': 9223372036854775808 does not fit into 64 bits"),
        ({"carrier": "a\ud800"}, r"column 'carrier': 'a\ud800' holds half a surrogate pair, which no UTF-8 has"),
        ({"transit_us": 5}, "column 'transit_us' is derived from others; leave it out"),
    ],
)
def test_a_record_that_does_not_fit_its_source_is_refused_in_words(values: dict[str, object], said: str) -> None:
    kit = Harness(views=[HUB_LOAD])
    with pytest.raises(RecordError) as refused:
        kit.send(AIR, parcel(0) | values)
    assert said in str(refused.value)
    assert kit.marker().next_offsets[AIR] == 0


def test_every_mistake_of_a_record_is_told_at_once() -> None:
    with pytest.raises(RecordError) as refused:
        Harness(views=[HUB_LOAD]).send(AIR, {"hub": "x", "colour": 1})
    assert str(refused.value).count("\n  - ") == 4


def test_a_view_over_another_source_is_refused_in_words() -> None:
    kit = Harness(views=[HUB_LOAD])
    with pytest.raises(HarnessError, match=r"view 'zone_demand' \(over source 'rides'\) is not in this harness"):
        kit.rows(ZONE_DEMAND)


def test_another_definition_of_a_view_is_not_taken_for_it() -> None:
    with pytest.raises(HarnessError, match="its views: hub_load"):
        Harness(views=[HUB_LOAD]).rows(replace(HUB_LOAD, grace_seconds=1))


def test_an_unknown_topic_is_refused_in_words() -> None:
    kit = Harness(views=[HUB_LOAD])
    for call in (
        lambda: kit.send("parcels.sea", parcel(0)),
        lambda: kit.advance_watermark("parcels.sea", 0),
        lambda: kit.watermark_us("parcels.sea"),
    ):
        with pytest.raises(
            HarnessError, match=r"no source here has topic 'parcels.sea'; there are parcels.air, parcels"
        ):
            call()


def test_a_partition_that_is_not_there_is_refused_in_words() -> None:
    with pytest.raises(HarnessError, match="no partition 1: this harness has 1, from 0 on"):
        Harness(views=[HUB_LOAD]).send(AIR, parcel(0), partition=1)


def test_a_harness_of_nothing_is_refused_in_words() -> None:
    with pytest.raises(DefinitionError, match="there is no source: neither a view nor a join reads one"):
        Harness()


def test_sources_that_cannot_form_one_task_are_refused() -> None:
    twin = replace(RECEIPTS, topics=PARCELS.topics)
    with pytest.raises(DefinitionError, match=r"topic 'parcels.air' is in two sources"):
        Harness(views=[HUB_LOAD, replace(STARS, source=twin)])


def test_what_shares_a_number_or_a_name_is_refused_for_both_stand_for_stored_rows() -> None:
    with pytest.raises(DefinitionError, match="twin and hub_load are both number 1"):
        Harness(views=[HUB_LOAD, replace(HUB_LOAD, name="twin")])
    with pytest.raises(DefinitionError, match="two are called 'hub_load'"):
        Harness(views=[HUB_LOAD, replace(HUB_LOAD, number=77)])
    with pytest.raises(DefinitionError, match="again and signed_parcels are both number 1"):
        Harness(joins=[SIGNED, replace(SIGNED, name="again", output=SourceTopic(99, "again"))])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Harness(views=[HUB_LOAD], partitions=0), "partitions: 0"),
        (lambda: Harness(views=["hub_load"]), "'hub_load' is a str, not a View"),
        (lambda: Harness(finals=["hub_load"]), "'hub_load' is a str, not a View"),
        (lambda: Harness(views=[HUB_LOAD]).send(AIR, ["p1"]), "values are a list, not columns by name"),
        (lambda: Harness(views=[HUB_LOAD]).send(AIR, parcel(0), timestamp_ms="x"), "timestamp_ms 'x' is no whole"),
        (lambda: Harness(views=[HUB_LOAD]).joined(HUB_LOAD), "hub_load is a View, not a join of this harness"),
    ],
)
def test_a_test_s_own_mistake_is_told_in_words(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(HarnessError, match=re.escape(said)):
        wrong()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"timestamp_ms": 1 << 70}, "timestamp_ms 1180591620717411303424 is no time of Kafka's: -1 (none) or 0 to"),
        ({"timestamp_ms": -2}, "timestamp_ms -2 is no time of Kafka's"),
        ({"timestamp_ms": 1.5}, "timestamp_ms 1.5 is no whole number of milliseconds"),
        ({"key": "abc"}, "key 'abc' is a str, not bytes or None"),
        ({"headers": {"a": b"b"}}, "headers {'a': b'b'} are no tuple of (name, value) pairs, a str and bytes each"),
        ({"headers": [("a", "b")]}, "headers [('a', 'b')] are no tuple of (name, value) pairs, a str and bytes each"),
        ({"headers": (("a", None),)}, "headers (('a', None),) are no tuple of"),
        ({"headers": (("a\ud800", b""),)}, r"the name of header 'a\ud800' holds half a surrogate pair"),
        ({"partition": -1}, "no partition -1: this harness has 1, from 0 on"),
        ({"partition": "0"}, "no partition '0': this harness has 1, from 0 on"),
    ],
)
def test_what_no_producer_could_send_is_refused_in_words_and_the_next_record_is_folded(
    wrong: dict[str, Any], said: str
) -> None:
    kit = Harness(views=[HUB_LOAD])
    for call in (lambda: kit.send(AIR, parcel(0), **wrong), lambda: kit.send_bytes(AIR, b"", **wrong)):
        with pytest.raises(HarnessError, match=re.escape(said)):
            call()
    assert kit.send(AIR, parcel(0)) == 0
    assert kit.marker().next_offsets[AIR] == 1


@pytest.mark.parametrize("value", ["text", 5, bytearray(b"x")])
def test_a_value_that_is_no_bytes_is_refused_in_words(value: Any) -> None:
    kit = Harness(views=[HUB_LOAD])
    with pytest.raises(HarnessError, match=r"parcels.air: value .* is a \w+, not bytes or None"):
        kit.send_bytes(AIR, value)
    assert kit.send(AIR, parcel(0)) == 0


def test_bytes_have_a_time_of_their_own() -> None:
    with pytest.raises(HarnessError, match="timestamp_ms None is no whole number of milliseconds"):
        Harness(views=[HUB_LOAD]).send_bytes(AIR, b"", timestamp_ms=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("timestamp_ms", [-1, 0, (1 << 63) - 1])
def test_any_time_that_kafka_can_hold_is_sent(timestamp_ms: int) -> None:
    kit = Harness(views=[HUB_LOAD])
    kit.send(AIR, parcel(0), timestamp_ms=timestamp_ms)
    assert kit.marker().next_offsets[AIR] == 1


def test_headers_may_be_a_list_of_pairs() -> None:
    kit = Harness(views=[HUB_LOAD])
    kit.send_bytes(AIR, b"no Avro", headers=[("a", b"b")])  # type: ignore[arg-type]
    assert [(one.value, one.headers) for one in kit.records(AIR)] == [(b"no Avro", (("a", b"b"),))]


@pytest.mark.parametrize("watermark_us", [6e8, "600", None, True])
def test_a_watermark_that_is_no_whole_number_is_refused_in_words(watermark_us: Any) -> None:
    kit = Harness(views=[HUB_LOAD])
    with pytest.raises(HarnessError, match=r"watermark_us .* is no whole number of microseconds"):
        kit.advance_watermark(AIR, watermark_us)
    assert kit.quarantined == []


def test_finals_of_a_view_that_publishes_none_are_refused_in_words() -> None:
    kit = Harness(views=[HUB_LOAD], finals=[STARS])
    with pytest.raises(HarnessError, match=r"view 'hub_load' publishes no finals here: name it in finals=; .*: stars"):
        kit.finals(HUB_LOAD)


def test_halves_of_a_join_that_is_not_there_are_refused_in_words() -> None:
    with pytest.raises(HarnessError, match="signed_parcels is a Join, not a join of this harness; there: none"):
        Harness(views=[HUB_LOAD]).unmatched(SIGNED)


@pytest.mark.parametrize("partition", [-1, 9, 0.0, True])
def test_nothing_is_told_of_a_partition_that_is_not_there(partition: Any) -> None:
    kit = Harness(views=[HUB_LOAD], partitions=2)
    for call in (
        lambda: kit.rows(HUB_LOAD, partition=partition),
        lambda: kit.cells(HUB_LOAD, partition=partition),
        lambda: kit.changelog(HUB_LOAD, partition=partition),
        lambda: kit.marker(partition),
        lambda: kit.watermark_us(AIR, partition=partition),
        lambda: kit.advance_watermark(AIR, 0, partition=partition),
    ):
        with pytest.raises(HarnessError, match=rf"no partition {partition}: this harness has 2, from 0 on"):
            call()

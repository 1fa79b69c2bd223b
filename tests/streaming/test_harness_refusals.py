"""What a harness refuses, in words: records, views and topics that it does not have, and a test's own mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

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

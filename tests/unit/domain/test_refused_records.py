"""Refused records as they were set aside, and as a user selects them."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.codecs.batches.carrying import Original, carried
from app.domain.errors import LayoutError
from app.domain.records import Place, Record, TopicPartition
from app.edge.late import originals
from app.edge.late import refused as refused_module
from app.edge.late.mending import Mended, usable, values_of
from app.edge.late.refeed import views_wanted
from app.edge.late.refused import LATE, RefusedLog, RefusedRecord, Selection, refused_record
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, VIEWS, ZONE_DEMAND
from tests.support.material.histories import START_US
from tests.support.material.refused import RIDE, SCHEMAS, refused

OWN = [("flagfall-topic", b"rides.green"), ("kind", b"x")]


class Message:
    """A record of a late or quarantine topic."""

    def __init__(self, *headers: tuple[str, bytes]) -> None:
        self._headers = [*headers]

    def headers(self) -> list[tuple[str, bytes]]:
        return self._headers

    def __getattr__(self, name: str) -> Any:
        return lambda: {"topic": "app.late", "partition": 0, "offset": 3, "key": b"k", "value": b"v"}[name]


WHERE = (
    ("flagfall-topic", b"rides.yellow"),
    ("flagfall-partition", b"2"),
    ("flagfall-offset", b"9"),
    ("flagfall-timestamp-ms", b"77"),
)


def test_a_records_own_headers_are_kept_though_they_look_like_ours() -> None:
    late = refused_record(
        Message(*OWN, *WHERE, ("flagfall-views", b"a,b"), ("flagfall-versions", b"1,2")),  # type: ignore[arg-type]
        late=True,
    )
    assert late == RefusedRecord(Place("rides.yellow", 2, 9), 77, b"k", b"v", tuple(OWN), LATE, {"a": "1", "b": "2"})
    told = refused_record(Message(*OWN, *WHERE, ("flagfall-reason", b"skewed")), late=False)  # type: ignore[arg-type]
    assert (told.reason, told.headers, told.views) == ("skewed", tuple(OWN), {})


def test_a_record_that_was_set_aside_before_versions_were_told_names_none() -> None:
    late = refused_record(Message(*OWN, *WHERE, ("flagfall-views", b"a,b")), late=True)  # type: ignore[arg-type]
    assert (late.views, late.headers) == ({"a": "", "b": ""}, tuple(OWN))
    assert [why for _, why in views_wanted([refused(views={ZONE_DEMAND.name: ""})], VIEWS)] == ["other_version"]


def test_a_shortened_record_says_what_it_was_and_is_read_only_whole() -> None:
    record = carried(
        b"k", bytes(4_000_000), tuple(OWN), (*WHERE, ("flagfall-views", b"a"), ("flagfall-versions", b"1"))
    )
    late = refused_record(Message(*record.headers), late=True)  # type: ignore[arg-type]
    assert (late.headers, late.views, late.value_bytes) == (tuple(OWN), {"a": "1"}, 4_000_000)
    assert values_of(RIDES, late, SCHEMAS) == "original_gone"
    mended = {column.name: RIDE.get(column.name) for column in RIDES.columns}
    assert isinstance(usable(RIDES, late, SCHEMAS, Mended(mended, START_US // 1000)), Record)


def test_a_record_that_says_wrongly_what_it_was_is_none_of_ours() -> None:
    with pytest.raises(LayoutError, match=r"app\.late-0 at offset 3: no worker wrote this"):
        refused_record(Message(*WHERE, ("flagfall-views", b"a"), ("flagfall-shortened", b"[1]")), late=True)  # type: ignore[arg-type]


def test_what_no_worker_wrote_is_passed_over_and_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = Message(*WHERE, ("flagfall-views", b"a"), ("flagfall-versions", b"1"))
    places = [TopicPartition(topic, 0) for topic in ("flagfall.late", "flagfall.quarantine")]
    cluster = SimpleNamespace(
        topics=lambda names: {name: SimpleNamespace(partitions=1) for name in names},
        log_starts=lambda of: dict.fromkeys(of, 0),
        log_ends=lambda of, committed: {places[0]: 3, places[1]: 0},
    )
    monkeypatch.setattr(refused_module, "Cluster", lambda _: cluster)
    monkeypatch.setattr(refused_module, "committed", lambda *_: iter([Message(), ours, Message(("x", b"y"))]))
    log = RefusedLog(Settings())
    assert [record.views for record in log.selected(Selection(), lambda _: None)] == [{"a": "1"}]
    assert (len(log.foreign), log.foreign[0].partition(":")[0]) == (2, "app.late-0 at offset 3")


def test_what_was_shortened_is_read_where_it_stood_and_only_if_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    log = [Message(*OWN)]
    asked: list[Any] = []
    monkeypatch.setattr(originals, "Cluster", lambda _: SimpleNamespace(log_starts=lambda at: dict.fromkeys(at, 3)))
    monkeypatch.setattr(originals, "committed", lambda _, *place: asked.append(place) or (one for one in log))
    whole = originals.Originals(KafkaSettings())
    kept = refused(value=b"beginning", original=Original(1, sha256(b"v").hexdigest(), 1, 2))
    there = replace(kept, place=Place("rides.yellow", 1, 3))
    assert whole(there) == replace(there, value=b"v", headers=tuple(OWN), original=None)
    assert asked == [("rides.yellow", 1, 3)]
    for gone in (
        replace(there, original=Original(1, sha256(b"w").hexdigest(), 1, 2)),
        replace(there, place=Place("rides.yellow", 1, 2)),
        replace(there, place=Place("rides.yellow", 1, 4)),
        refused(),
    ):
        assert whole(gone) is gone
    log.clear()
    assert whole(there) is there


@pytest.mark.parametrize(
    ("selection", "taken"),
    [
        (Selection(), True),
        (Selection(reasons=frozenset({LATE})), False),
        (Selection(reasons=frozenset({"out_of_bounds"})), True),
        (Selection(reasons=frozenset({"out_of_bounds:pickup_zone"})), True),
        (Selection(reasons=frozenset({"out_of_bounds:vendor"})), False),
        (Selection(topics=frozenset({"rides.green"})), False),
        (Selection(partitions=frozenset({1})), True),
        (Selection(offsets=(5, 6)), True),
        (Selection(offsets=(6, None)), False),
        (Selection(offsets=(None, 5)), False),
        (Selection(times_ms=(START_US // 1000, START_US // 1000 + 1)), True),
        (Selection(times_ms=(None, START_US // 1000)), False),
        (Selection(places=frozenset({Place("rides.yellow", 1, 4)})), False),
    ],
)
def test_a_selection_takes_what_it_names_and_ends_before_its_ends(selection: Selection, taken: bool) -> None:
    assert selection.takes(refused("out_of_bounds:pickup_zone")) is taken


def test_a_view_selects_the_records_that_were_late_for_it_and_none_that_no_view_saw() -> None:
    assert Selection(views=frozenset({ZONE_DEMAND.name})).takes(refused())
    assert not Selection(views=frozenset({VENDOR_TRIPS.name})).takes(refused())
    of_rides = Selection(views=frozenset({VENDOR_TRIPS.name}), quarantined_of=frozenset({refused().place.topic}))
    assert of_rides.takes(refused("too_short"))
    assert not of_rides.takes(refused())
    assert not Selection(views=frozenset({VENDOR_TRIPS.name})).takes(refused("too_short"))

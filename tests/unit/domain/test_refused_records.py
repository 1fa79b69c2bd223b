"""Refused records as a user selects, reads and mends them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.base.setting_groups import KafkaSettings
from app.base.settings import Settings
from app.codecs.avro.schema import WriterSchema
from app.codecs.batches.carrying import Original, carried
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.corrections.correction import Correction, Place
from app.domain.corrections.refeed import Fed
from app.domain.errors import LayoutError
from app.domain.records import Record, TopicPartition
from app.domain.rows import RowKey
from app.domain.source import SourceTopic
from app.domain.view import View
from app.edge.late import originals
from app.edge.late import refused as refused_module
from app.edge.late.mending import NO_SOURCE, Mended, NotMended, Reader, read_mended, usable, values_of
from app.edge.late.originals import Originals
from app.edge.late.refeed import APPLIED, LEFT, NOT_SENT, UNANSWERED, RecordOutcome, Refeeding, views_wanted
from app.edge.late.refused import LATE, RefusedLog, RefusedRecord, Selection, refused_record
from app.edge.late.standing import Outcomes
from app.rides.lifecycle.sources import FARES
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, VIEWS, ZONE_DEMAND
from app.testkit.encoding import encode, schema_of
from tests.support.material.histories import START_US
from tests.support.material.refused import RIDE, SCHEMAS, refused

RIDES_ALONE = Catalogue((TaskGroup((RIDES,), (ZONE_DEMAND, VENDOR_TRIPS)),))
POOLED = replace(RIDES, number=100, name="pooled", topics=(SourceTopic(100, "pooled"),))
POOLED_DEMAND = replace(ZONE_DEMAND, number=200, name="pooled_demand", source=POOLED)
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
    assert Selection(views=frozenset({VENDOR_TRIPS.name})).takes(refused("too_short"))


def test_a_record_is_read_by_the_schemas_there_are_now() -> None:
    late = refused()
    assert isinstance(usable(RIDES, late, SCHEMAS), Record)
    unknown = refused("unknown_schema", encode(RIDES, 8, RIDE))
    assert usable(RIDES, unknown, SCHEMAS) == "unknown_schema"
    registered = {**SCHEMAS, 8: WriterSchema(8, SCHEMAS[7].text)}  # type: ignore[union-attr]
    assert isinstance(usable(RIDES, unknown, registered), Record)
    assert values_of(RIDES, refused("too_short", b"\x00"), SCHEMAS) == "too_short"


def test_a_mended_record_takes_the_place_of_what_was_sent_but_must_obey_the_rules() -> None:
    damaged = refused("bad_magic", b"\x01")
    values = {column.name: RIDE.get(column.name) for column in RIDES.columns}
    mended = usable(RIDES, damaged, SCHEMAS, Mended(values, None))
    assert isinstance(mended, Record)
    assert (mended.topic, mended.partition, mended.offset) == damaged.place
    outside = usable(RIDES, damaged, SCHEMAS, Mended(values | {"pickup_zone": 9_999}, None))
    assert outside == "out_of_bounds:pickup_zone"
    early = Mended(values, START_US // 1000 - 700_000)
    assert usable(RIDES, damaged, SCHEMAS, early) == "skewed"


def test_what_show_prints_can_be_mended_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "mended.json"
    place = {"topic": "rides.yellow", "partition": 1, "offset": 5}
    file.write_text(json.dumps({"counts": [], "records": [{**place, "values": RIDE}, {**place, "values": None}]}))
    assert read_mended(file, RIDES_ALONE.by_topic)[Place("rides.yellow", 1, 5)].values["vendor"] == "1"


def test_every_mistake_in_a_file_of_mended_records_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mended.json"
    place = {"topic": "rides.yellow", "partition": 1, "offset": 5}
    wrong = {"ride_id": None, "pickup_at_us": "noon", "no_such": 1}
    file.write_text(json.dumps([{**place, "values": wrong}, {**place, "topic": "elsewhere", "values": RIDE}]))
    with pytest.raises(NotMended) as raised:
        read_mended(file, RIDES_ALONE.by_topic)
    for told in ("no column 'no_such'", "'ride_id' may not be null", "'noon' is a str", "no topic of rides"):
        assert told in str(raised.value)


@pytest.mark.parametrize(
    "text", ["{}", "[" * 100_000, '[{"values":{},"topic":"rides.yellow","partition":1e400,"offset":0}]', "", "7"]
)
def test_what_is_no_list_of_mended_records_is_told_so(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mended.json"
    file.write_text(text)
    with pytest.raises(NotMended, match="no list of records"):
        read_mended(file, RIDES_ALONE.by_topic)


def test_only_the_version_that_refused_a_record_gets_it_back() -> None:
    other = refused(views={ZONE_DEMAND.name: "00000000", "a_join": "1", VENDOR_TRIPS.name: VENDOR_TRIPS.version})
    assert dict(views_wanted([other], VIEWS)) == {
        ZONE_DEMAND.name: "other_version",
        "a_join": "no_such_view",
        VENDOR_TRIPS.name: None,
    }
    assert dict(views_wanted([other, refused()], VIEWS))[ZONE_DEMAND.name] is None
    assert dict(views_wanted([refused("too_short")], VIEWS)) == {view.name: None for view in VIEWS}


def test_what_a_record_says_is_read_by_the_source_of_its_topic() -> None:
    fare = {"ride_id": "r", "fare_cents": 1, "tip_cents": 2, "total_cents": 3, "paid_at_us": START_US}
    of_fares = refused("skewed", encode(FARES, 9, fare), place=Place("fares", 0, 1))
    schemas = {**SCHEMAS, 9: schema_of(FARES, 9)}
    both = Catalogue((*RIDES_ALONE.groups, TaskGroup((FARES,), ())))
    read = Reader(both.by_topic, schemas)
    assert read(of_fares) == fare | {"payment_type": None}
    told = read(refused())
    assert isinstance(told, dict)
    assert told["vendor"] == "1"
    assert Reader(RIDES_ALONE.by_topic, schemas)(of_fares) == NO_SOURCE


def test_records_go_to_views_over_their_own_source_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[tuple[str, int, str]] = []

    def feed_task(_: object, view: View, partition: int, records: list[Fed]) -> Iterator[RecordOutcome]:
        fed.extend((view.name, partition, one.record.topic) for one in records)
        yield from ()

    monkeypatch.setattr(Refeeding, "_feed_task", feed_task)
    run = Refeeding.__new__(Refeeding)
    run._catalogue = RIDES_ALONE.extended([POOLED], [POOLED_DEMAND])
    run._whole = Originals.__new__(Originals)  # nothing was shortened
    places = Place("rides.green", 2, 1), Place("pooled", 1, 1), Place("x", 0, 1)
    told = list(run.feed([refused("skewed", place=place) for place in places], SCHEMAS, {}))
    green = [("vendor_trips", 2, "rides.green"), ("zone_demand", 2, "rides.green")]
    assert fed == [("pooled_demand", 1, "pooled"), *green]
    assert told == [RecordOutcome(Place("x", 0, 1), "", LEFT, NO_SOURCE)]


def test_a_task_that_is_silent_is_sent_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[Correction]] = []

    def corrected(
        _: object, to: Outcomes, partition: int, portion: list[Correction]
    ) -> Iterator[tuple[Correction, str, None]]:
        sent.append(portion)
        yield from ((one, APPLIED if len(sent) == 1 else UNANSWERED, None) for one in portion)

    monkeypatch.setattr(Refeeding, "_corrected", corrected)
    monkeypatch.setattr("app.edge.late.refeed.SENT_AT_ONCE", 2)
    key = RowKey(0, (1,))
    corrections = [Correction(str(i), "v", "1", key, None, None) for i in range(7)]
    told = list(Refeeding.__new__(Refeeding)._in_portions(Outcomes.__new__(Outcomes), 0, corrections))
    assert [one for one, _, _ in told] == corrections
    assert sent == [corrections[:2], corrections[2:4]]
    silent = [(UNANSWERED, None)] * 2 + [(UNANSWERED, NOT_SENT)] * 3
    assert [(outcome, why) for _, outcome, why in told] == [(APPLIED, None)] * 2 + silent

"""Refused records as they are read, mended and sent to tasks again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.codecs.avro.schema import WriterSchema
from app.domain.catalogue import Catalogue, TaskGroup
from app.domain.corrections.correction import Correction
from app.domain.corrections.refeed import Fed
from app.domain.records import Place, Record
from app.domain.rows import RowKey
from app.domain.source import SourceTopic
from app.domain.view import View
from app.edge.late.corrector import APPLIED, NOT_SENT, UNANSWERED, Corrector, Judged
from app.edge.late.mending import NO_SOURCE, Mended, NotMended, Reader, read_mended, usable, values_of
from app.edge.late.originals import Originals
from app.edge.late.refeed import LEFT, RecordOutcome, Refeeding, views_wanted
from app.edge.late.refused import Selection
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
    for told in ("no column 'no_such'", "'ride_id' may not be null", "'noon' is text", "no topic of rides"):
        assert told in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[" * 100_000,
        '[{"values":{},"topic":"rides.yellow","partition":1e400,"offset":0}]',
        "",
        "7",
        "9" * 5000,
        "[" * 900 + "]" * 900,
    ],
)
def test_what_is_no_list_of_mended_records_is_told_so(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mended.json"
    file.write_text(text)
    with pytest.raises(NotMended, match="no list of records") as raised:
        read_mended(file, RIDES_ALONE.by_topic)
    assert "Error(" not in str(raised.value), "an exception as Python shows it"


def test_only_the_version_that_refused_a_record_gets_it_back() -> None:
    other = refused(views={ZONE_DEMAND.name: "00000000", "a_join": "1", VENDOR_TRIPS.name: VENDOR_TRIPS.version})
    assert dict(views_wanted([other], VIEWS)) == {
        ZONE_DEMAND.name: "other_version",
        "a_join": "no_such_view",
        VENDOR_TRIPS.name: None,
    }
    assert dict(views_wanted([other, refused()], VIEWS))[ZONE_DEMAND.name] is None
    renamed = replace(ZONE_DEMAND, name="other")
    assert dict(views_wanted([refused()], [renamed])) == {"other": None}
    assert Selection(views=frozenset({"other"}), versions=frozenset({renamed.version})).takes(refused())
    assert not Selection(views=frozenset({"other"})).takes(refused())
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

    def corrected(_: object, to: Outcomes, partition: int, portion: list[Correction]) -> Iterator[Judged]:
        sent.append(portion)
        yield from (Judged(one, APPLIED if len(sent) == 1 else UNANSWERED, None) for one in portion)

    monkeypatch.setattr(Corrector, "_corrected", corrected)
    monkeypatch.setattr("app.edge.late.corrector.SENT_AT_ONCE", 2)
    key = RowKey(0, (1,))
    corrections = [Correction(str(i), "v", "1", key, None, None) for i in range(7)]
    told = list(Corrector.__new__(Corrector).correct(Outcomes.__new__(Outcomes), 0, corrections))
    assert [one for one, _, _ in told] == corrections
    assert sent == [corrections[:2], corrections[2:4]]
    silent = [(UNANSWERED, None)] * 2 + [(UNANSWERED, NOT_SENT)] * 3
    assert [(outcome, why) for _, outcome, why in told] == [(APPLIED, None)] * 2 + silent

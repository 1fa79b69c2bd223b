"""The ledgers: what does not add up, what differs, and which watermarks a marker may tell."""

from __future__ import annotations

from dataclasses import replace

from app.codecs.avro.schema import WriterSchema
from app.codecs.stored.corrections import CorrectionOutcome
from app.domain.advance import Advance
from app.domain.corrections.correction import Correction
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Fates, InputPosition, Marker, OffsetRange, ViewPosition
from app.domain.records import Place, TopicPartition
from app.domain.rows import RowKey
from app.rides.views import ZONE_DEMAND as VIEW
from spark_batch.folds.corrections import Corrections, ToldCorrections
from spark_batch.source.read_schemas import resolved_otherwise
from spark_batch.stored.cut import Span, TaskCut, joined
from spark_batch.stored.ledgers import Counted, accepted_losses, entries, not_adding_up, watermarks

YELLOW = "rides.yellow"
CORRECTIONS = "flagfall.rides.corrections"
REQUESTS = "flagfall.rides.advance-requests"
POSITION = InputPosition("id", 10, 20, 5_000, decoded=7, quarantined=1, not_records=2)
AT = TopicPartition(YELLOW, 2)
FATES = Fates(4, 2, 1)


def cut(position: InputPosition = POSITION, fates: Fates = FATES, start: dict[str, int] | None = None) -> TaskCut:
    views = {VIEW.name: ViewPosition(VIEW.number, VIEW.version, start=start or {}, fates={YELLOW: fates})}
    inputs = {YELLOW: position, REQUESTS: InputPosition("id", 0, 3, decoded=2, not_records=1)}
    return TaskCut.of(VIEW, 2, Marker("flagfall", 1, 2, 9, inputs, views), 100)


def test_ids_that_the_registry_resolves_otherwise_are_told() -> None:
    """Rows were made by the schemas that the workers were given: by others they cannot be made again."""
    same, other = WriterSchema(7, '"string"'), WriterSchema(8, '"long"')
    marker = replace(cut().marker, schemas={"7": same.fingerprint, "8": "0" * 16, "9": "1" * 16})
    assert resolved_otherwise([marker, cut().marker], {7: same, 8: other, 9: None}) == [
        f"  - schema id 8 was {'0' * 16}, and is {other.fingerprint}",
        f"  - schema id 9 was {'1' * 16}, and is gone",
    ]


def test_a_right_marker_adds_up_and_equals_the_count() -> None:
    own = {AT: Counted(7, 1, 5_000, Fates(4, 2, 1))}
    assert not_adding_up(cut()) == []
    assert [entry for entry in entries(cut(), own, []) if entry.differs] == []


def test_offsets_that_are_nowhere_in_the_ledger_are_told() -> None:
    (problem,) = not_adding_up(cut(replace(POSITION, next_offset=21)))
    assert problem.startswith("rides.yellow-2: 7 decoded + 1 quarantined + 2 not records + 0 lost is not 21 - 10")


def test_a_loss_that_was_accepted_adds_up_and_is_named_as_the_reason_for_no_verdict() -> None:
    """start 10 |8 records, 2 without|20: 5 lost|25: 1 record|26"""
    after = cut(replace(POSITION, next_offset=26, decoded=8, lost=(OffsetRange(20, 25),)), Fates(5, 2, 1))
    assert not_adding_up(after) == []
    assert Span(YELLOW, 2, 25, 26, "id") in after.spans  # what came before is gone, too
    assert accepted_losses([cut()]) is None
    assert "rides.yellow-2 [20, 25): 5 offsets" in (accepted_losses([after, after]) or "")


def test_requests_that_were_lost_hinder_no_verdict() -> None:
    whole = cut()
    requests = InputPosition("id", 0, 5, decoded=2, not_records=1, lost=(OffsetRange(3, 5),))
    marker = replace(whole.marker, inputs=whole.marker.inputs | {REQUESTS: requests})
    after = replace(whole, marker=marker)
    assert not_adding_up(after) == []
    assert Span(REQUESTS, 2, 5, 5, "id") in after.spans
    assert accepted_losses([after]) is None


def test_records_without_a_fate_in_the_view_are_told() -> None:
    (problem,) = not_adding_up(cut(fates=Fates(4, 1, 1)))
    assert "zone_demand: 4 applied + 1 late + 1 out of scope is not 7" in problem


def test_a_view_that_began_later_need_not_account_for_what_came_before() -> None:
    later = cut(fates=Fates(1, 0, 0), start={YELLOW: 15})
    assert not_adding_up(later) == []
    assert later.view_start(YELLOW) == 15


def test_every_figure_that_differs_is_an_entry() -> None:
    own = {AT: Counted(6, 1, 4_000, Fates(4, 1, 1))}
    found = {entry.name: (entry.marker, entry.recomputed) for entry in entries(cut(), own, []) if entry.differs}
    assert found == {"decoded": (7, 6), "not_records": (2, 3), "watermark_us": (5_000, 4_000), "late": (2, 1)}


def test_requests_to_advance_are_no_records_of_the_source() -> None:
    assert [span.topic for span in cut().source_spans] == [YELLOW]
    assert {entry.topic for entry in entries(cut(), {}, [])} == {YELLOW}


def test_an_advance_raises_the_watermark_from_its_offset_on() -> None:
    below, at, elsewhere = Advance(YELLOW, 2, 19, 50), Advance(YELLOW, 2, 20, 70), Advance(YELLOW, 1, 1, 90)
    assert watermarks(10, AT, 20, [below, elsewhere]) == {50}
    assert watermarks(NO_WATERMARK, AT, 20, [below, at]) == {50, 70}


def test_spans_of_views_at_different_offsets_are_read_once() -> None:
    spans = [Span("b", 0, 3, 9), Span("a", 1, 0, 5), Span("b", 0, 0, 7)]
    assert joined(spans) == [Span("a", 1, 0, 5), Span("b", 0, 0, 9)]


def test_corrections_of_a_view_s_former_life_are_not_folded() -> None:
    """|applied to the rows that it had: 4|began anew at 5|applied: 5, 6|the cut|7|"""
    now = cut()
    view = replace(now.marker.views[VIEW.name], corrected_from=5)
    inputs = now.marker.inputs | {CORRECTIONS: InputPosition("id", 0, 7, decoded=7)}
    now = replace(now, marker=replace(now.marker, views={VIEW.name: view}, inputs=inputs))
    correction = Correction("run", VIEW.name, VIEW.version, RowKey(0, (1,)), None, None)
    told = [CorrectionOutcome(CORRECTIONS, 2, offset, None, correction) for offset in (4, 5, 6, 7)]
    assert [one.offset for one in Corrections(VIEW, [now], ToldCorrections(CORRECTIONS, told)).applied] == [5, 6]


def test_outcomes_of_corrections_that_no_task_would_have_applied_are_not_folded() -> None:
    """Whatever stands in their topic; that one is missing then is seen by the marker's count."""
    now = cut()
    inputs = now.marker.inputs | {CORRECTIONS: InputPosition("id", 0, 9, decoded=9)}
    now = replace(now, marker=replace(now.marker, inputs=inputs))
    sane = Correction("run", VIEW.name, VIEW.version, RowKey(0, (1,)), None, VIEW.neutral)
    made_up = [
        replace(sane, key=RowKey(0, ("one",))),
        replace(sane, key=RowKey(0, ([1],))),  # type: ignore[arg-type]
        replace(sane, key=RowKey("then", (1,))),  # type: ignore[arg-type]
        replace(sane, row=(1,)),
        replace(sane, adds=(Place("elsewhere", 2, 1),)),
        replace(sane, adds=(Place(YELLOW, 2, 1 << 70),)),
    ]
    told = [CorrectionOutcome(CORRECTIONS, 2, offset, None, one) for offset, one in enumerate([*made_up, sane])]
    assert [one.offset for one in Corrections(VIEW, [now], ToldCorrections(CORRECTIONS, told)).applied] == [6]

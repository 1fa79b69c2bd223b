"""The naive fold on cases small enough to be checked by eye: the oracle itself must be obviously right."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.advance import Advance
from app.domain.contribution import contribution
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import Origin, mix, pack, signed
from app.domain.measures.kinds import Count, First, Histogram, Last, Max, Sum
from app.domain.oracle.view_fold import Folded, fold
from app.domain.records import Record, TopicPartition, Value
from app.domain.rows import RowKey, merge_rows
from app.domain.source import MAX_TEXT_BYTES
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.tumbling import Tumbling
from tests.support.material.trips import TRIPS

SECOND_US = 1_000_000
VIEW = View(
    number=1,
    name="by_zone",
    source=TRIPS,
    groups=(Group("zone", "zone"),),
    window=Tumbling("begun_us", 10),
    measures=(Count("trips"), Sum("fares", "cents")),
    grace_seconds=5,
    retention_seconds=0,
    help="panes of 10 seconds, 5 seconds of grace",
)
TOTAL = replace(VIEW, window=AllTime(), groups=())
AT = TopicPartition("trips.a", 0)


def trip(
    offset: int,
    begun: int,
    ended: int | None = None,
    *,
    zone: int | None = 1,
    cents: int | None = 100,
    partition: int = 0,
    timestamp: float = 1_000,
    **values: Value,
) -> Record:
    """A trip by seconds; reported when it ended, or when it began if nobody knows."""
    told: dict[str, Value] = {
        "id": str(offset),
        "begun_us": begun * SECOND_US,
        "ended_us": None if ended is None else ended * SECOND_US,
        "cents": cents,
        "people": 1,
        "unbounded": 0,
        "too_wide": 0,
        "zone": zone,
        "shared": None,
    }
    return Record("trips.a", partition, offset, int(timestamp * 1000), told | values)


def offsets(records: list[Record]) -> list[int]:
    return [record.offset for record in records]


def sums(folded: Folded, partition: int = 0) -> dict[tuple[int | None, Value], tuple[int, int]]:
    """(window start in seconds, zone) -> (trips, fares)."""
    return {
        (None if key.window_start_us is None else key.window_start_us // SECOND_US, *key.group): (cells[0], cells[2])
        for key, cells in folded.rows[partition].items()
    }  # type: ignore[return-value]


def test_records_of_a_window_and_group_are_one_row() -> None:
    """
    seconds  0         10        20
             |a--b-----|c--------|
    """
    folded = fold(VIEW, [trip(0, 1), trip(1, 4, cents=50), trip(2, 11)])
    assert sums(folded) == {(0, 1): (2, 150), (10, 1): (1, 100)}
    assert offsets(folded.applied) == [0, 1, 2]


def test_null_is_a_group_of_its_own() -> None:
    folded = fold(VIEW, [trip(0, 1, zone=None), trip(1, 1, zone=1), trip(2, 2, zone=None)])
    assert sums(folded) == {(0, None): (2, 200), (0, 1): (1, 100)}


def test_null_values_are_skipped_and_counted_apart() -> None:
    folded = fold(VIEW, [trip(0, 1, cents=None), trip(1, 1, cents=7)])
    (cells,) = folded.rows[0].values()
    stored = dict(zip(VIEW.cells, cells, strict=True))
    assert (stored["count"], stored["fares"], stored["fares_values"]) == (2, 7, 1)


def test_a_row_carries_the_fingerprint_of_its_records() -> None:
    folded = fold(VIEW, [trip(0, 1), trip(5, 2)])
    (cells,) = folded.rows[0].values()
    assert cells[1] == signed(sum(mix(pack(Origin(1, 0, offset))) for offset in (0, 5)))


def test_a_window_takes_records_until_the_watermark_reaches_its_end_and_grace() -> None:
    """
    seconds      0         10   15
    window       |---------|grace|
    reported by        a        b   c     a and b at 9, 14; c at 15 closes the window
    begun        abcd                    d began in the closed window, reported before the watermark: late
    """
    folded = fold(VIEW, [trip(0, 0, 9), trip(1, 1, 14), trip(2, 2, 15), trip(3, 3, 4)])
    assert offsets(folded.applied) == [0, 1]
    assert offsets(folded.late) == [2, 3]
    assert folded.watermarks == {AT: 15 * SECOND_US}


def test_a_record_reported_after_its_own_window_closed_is_late_at_once() -> None:
    """The watermark includes the record itself."""
    assert offsets(fold(VIEW, [trip(0, 0, 15)]).late) == [0]
    assert offsets(fold(VIEW, [trip(0, 0, 14)]).applied) == [0]


def test_lateness_is_decided_by_the_record_s_own_partition() -> None:
    """partition 0:  |reported 100|
    partition 1:  |reported 5|      its watermark is 5, whatever partition 0 has seen"""
    folded = fold(VIEW, [trip(0, 100), trip(0, 5, partition=1)])
    assert folded.late == []
    assert sums(folded, 1) == {(0, 1): (1, 100)}


def test_without_a_drop_off_the_pick_up_moves_the_watermark() -> None:
    folded = fold(VIEW, [trip(0, 30), trip(1, 2)])
    assert offsets(folded.late) == [1]


def test_a_skewed_record_is_quarantined_and_moves_no_watermark() -> None:
    """Kafka timestamp 0 |--- 600 s ---|x"""
    late_clock = trip(1, 1, 601, timestamp=0)
    folded = fold(VIEW, [trip(0, 1, 2), late_clock, trip(2, 1, 600, timestamp=0)])
    assert [(r.offset, r.reason) for r in folded.quarantined] == [(1, "skewed")]
    assert offsets(folded.late) == [2]
    assert folded.watermarks == {AT: 600 * SECOND_US}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (trip(0, 1, timestamp=-0.001), "no_timestamp"),
        (trip(0, 1, people=10), "out_of_bounds:people"),
        (trip(0, 1, people=-1), "out_of_bounds:people"),
        (trip(0, 1, people=None), "out_of_bounds:people"),
        (trip(0, -1), "out_of_bounds:begun_us"),
        (trip(0, 1, people=10, cents=2**40), "out_of_bounds:cents"),
        (trip(0, 1, 700, timestamp=0, people=10), "out_of_bounds:people"),
        (trip(0, 1, id="x" * (MAX_TEXT_BYTES + 1)), "out_of_bounds:id"),
        (trip(0, 1, id="é" * (MAX_TEXT_BYTES // 2 + 1)), "out_of_bounds:id"),
    ],
    ids=[
        "no timestamp", "above", "below", "null", "before 1970", "the first column", "bounds before skew",
        "a long text", "a text long in UTF-8",
    ],
)  # fmt: skip
def test_an_unusable_record_is_quarantined_for_the_first_reason_and_touches_nothing(odd: Record, reason: str) -> None:
    folded = fold(VIEW, [odd])
    assert [r.reason for r in folded.quarantined] == [reason]
    assert (dict(folded.rows), folded.applied, folded.watermarks) == ({}, [], {AT: NO_WATERMARK})


@pytest.mark.parametrize("values", [{"people": 9}, {"people": 0}, {"id": "x" * MAX_TEXT_BYTES}])
def test_a_value_at_its_bound_is_fine(values: dict[str, Value]) -> None:
    assert offsets(fold(VIEW, [trip(0, 1, **values)]).applied) == [0]


def test_a_record_without_an_instant_for_the_window_is_out_of_scope_of_this_view_only() -> None:
    by_end = replace(VIEW, window=Tumbling("ended_us", 10))
    records = [trip(0, 1), trip(1, 1, 3)]
    folded = fold(by_end, records)
    assert (offsets(folded.out_of_scope), offsets(folded.applied)) == ([0], [1])
    assert fold(VIEW, records).out_of_scope == []


def test_a_running_total_takes_records_however_late() -> None:
    folded = fold(TOTAL, [trip(0, 500), trip(1, 0)])
    assert folded.rows[0].keys() == {RowKey(None, ())}
    assert sums(folded) == {(None,): (2, 200)}  # type: ignore[comparison-overlap]


@pytest.mark.parametrize(("at_offset", "late"), [(0, [0, 1]), (1, [1]), (2, [])])
def test_an_advance_holds_from_its_offset_on(at_offset: int, late: list[int]) -> None:
    """
    offset      0    1
    window  0-10    0-10
    advance to 15 at 0, at 1, at 2
    """
    advance = Advance("trips.a", 0, at_offset, 15 * SECOND_US)
    assert offsets(fold(VIEW, [trip(0, 1), trip(1, 1)], [advance]).late) == late


def test_an_advance_of_another_partition_or_below_the_watermark_changes_nothing() -> None:
    records = [trip(0, 4), trip(1, 3)]
    elsewhere = [Advance("trips.a", 1, 0, 99 * SECOND_US), Advance("trips.b", 0, 0, 99 * SECOND_US)]
    assert fold(VIEW, records, elsewhere) == fold(VIEW, records)
    assert fold(VIEW, records, [Advance("trips.a", 0, 1, 3 * SECOND_US)]) == fold(VIEW, records)


def test_an_advance_met_by_an_unusable_record_still_holds_for_the_next() -> None:
    folded = fold(VIEW, [trip(0, 1, people=10), trip(1, 1)], [Advance("trips.a", 0, 0, 15 * SECOND_US)])
    assert offsets(folded.late) == [1]


def test_first_and_last_are_by_report_and_then_by_origin() -> None:
    """reported   5: offset 0 (10 cents), offset 1 (20)     3: offset 2 (30)      5: offset 3 (none)"""
    view = replace(VIEW, measures=(First("first", "cents"), Last("last", "cents")))
    records = [trip(0, 1, 5, cents=10), trip(1, 1, 5, cents=20), trip(2, 1, 3, cents=30), trip(3, 1, 5, cents=None)]
    folded = fold(view, records)
    (cells,) = folded.rows[0].values()
    assert view.present(cells) == {"first": 30, "first_values": 3, "last": 20, "last_values": 3}


def test_a_value_is_counted_in_the_one_bin_that_holds_it_and_null_in_none() -> None:
    """…|0   |10   |…     an edge belongs to the bin above it"""
    view = replace(VIEW, measures=(Histogram("bins", "cents", (0, 10)),))
    values = (-1, 0, 9, 10, 11, None)
    folded = fold(view, [trip(n, 1, cents=cents) for n, cents in enumerate(values)])
    (cells,) = folded.rows[0].values()
    assert view.present(cells) == {"bins": [1, 2, 2]}


def test_a_length_is_null_where_an_end_is() -> None:
    view = replace(VIEW, measures=(Max("longest_us", "length_us"),))
    (cells,) = fold(view, [trip(0, 1)]).rows[0].values()
    assert view.present(cells) == {"longest_us": None, "longest_us_values": 0}
    (cells,) = fold(view, [trip(0, 1), trip(1, 2, 5)]).rows[0].values()
    assert view.present(cells) == {"longest_us": 3 * SECOND_US, "longest_us_values": 1}


def test_a_row_is_the_merge_of_what_its_records_would_make_alone() -> None:
    records = [trip(n, n % 7, cents=n) for n in range(9)]
    (cells,) = fold(VIEW, records).rows[0].values()
    assert merge_rows(VIEW, [contribution(VIEW, record) for record in reversed(records)]) == cells

"""A run's report as a page: what `report.json` tells, for somebody who reads no JSON, in one file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import accumulate

import orjson
import pytest

from app.base.files.verdicts import Verdict
from app.domain.difference import DifferenceKind
from app.domain.rows import RowKey
from app.domain.windows.scope import Scope
from app.rides.views import ZONE_DEMAND
from spark_batch.findings.page.ledger_bars import LEAST, LENGTH, ledger_bars
from spark_batch.findings.page.report_page import SHOWN, report_page
from spark_batch.findings.page.tallies import MOST_BARS, TimeBars, by_time
from spark_batch.findings.report import Report
from spark_batch.findings.words import OF_RECORDS
from tests.support.material.stored.runs import REPORT_SCHEMA
from tests.support.material.stored.sample_report import BEGUN, HOUR_US, sample_report


class Text(HTMLParser):
    """What a reader sees of a page, one line."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.drawn = True
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.drawn = tag != "style"

    def handle_data(self, data: str) -> None:
        if self.drawn:
            self.words += data.split()

    def __str__(self) -> str:
        return " ".join(self.words)


def read(report: Report) -> str:
    document = report.as_json()
    REPORT_SCHEMA.validate(json.loads(orjson.dumps(document)))
    return str(Text(report_page(document)))


def page() -> str:
    return report_page(sample_report().as_json())


def test_the_page_tells_verdict_rows_classes_places_and_what_is_unexplained() -> None:
    told = read(sample_report())
    assert "MISMATCH The tables differ from what the records in the topics make them." in told
    assert "zone_demand MISMATCH 23,412 23,412 23,412 60" in told
    assert "vendor_trips MATCH 96 96 96 0 0 0" in told
    for kind in DifferenceKind:
        assert kind.value in told
        assert OF_RECORDS[kind] in told
    assert "JFK Airport, Queens (132)" in told
    assert "DOUBLED rides.yellow-1 1,000 20,999 20,000 3,012" in told
    assert "Not explained by these records: count, fingerprint" in told
    assert "512 of 23,500 rows would be others" in told
    assert "LATE, to be taken in: rides.green-0, offset 4711" in told
    assert "1 of 56 figures differ" in told
    assert "LOST partition 0: a result is not in the topic" in told
    assert "18,044 were compared with what was published of them" in told
    assert "2 were corrected since, and not compared; 3 are older than what the topic holds" in told
    assert "its final has other values, windows.zone_demand-1, offset 4711" in told


def test_a_view_of_which_only_what_was_published_is_wrong_is_no_match() -> None:
    report = sample_report(differing=0)
    report.views[0].ledger = ()
    assert "zone_demand MISMATCH 23,412 23,412 23,412 0" in read(report)
    assert not report.views[0].is_right
    assert report.views[0].residual == 3


def test_nothing_of_the_stream_is_markup_and_nothing_is_fetched_from_anywhere() -> None:
    drawn = page()
    assert "&lt;script&gt;alert(0)&lt;/script&gt;" in drawn
    assert "<script" not in drawn
    assert not re.findall(r"""(?:src|href)=["'](?!#)|url\(|@import""", drawn)


def test_a_run_without_a_verdict_has_a_page_that_says_why() -> None:
    report = Report("r1", "flagfall", BEGUN, {}, Verdict.INCONCLUSIVE, "no worker answers at <host>")
    told = read(report)
    assert "INCONCLUSIVE No statement about the tables" in told
    assert "no worker answers at <host>" in told


def test_a_page_over_some_windows_says_which() -> None:
    report = sample_report()
    report.scope = Scope(None, 3_600_000_000)
    assert "<p>Of windows to 1970-01-01T01:00:00Z. Sessions" in report_page(report.as_json())
    assert "<p>Of windows" not in report_page(sample_report().as_json())


def test_a_page_of_many_differences_tells_how_many_are_left_out() -> None:
    told = read(sample_report(differing=SHOWN + 40))
    assert "… and 40 more differing rows" in told


def test_bars_of_a_ledger_are_as_long_as_their_offsets_are_many_and_wide_enough_to_be_seen() -> None:
    document = sample_report().as_json()["views"][0]
    bars = ledger_bars(document["ledger"])
    assert [bar.topic for bar in bars] == ["rides.yellow", "rides.green", "rides.fhv", "rides.hvfhv"]
    first = bars[0]
    assert (first.offsets, first.differs, bars[1].differs) == (2_000_000, True, False)
    assert {one.kind: one.offsets for one in first.segments} == {
        "applied": 1_920_000,
        "late": 36_000,
        "before": 40_000,
        "quarantined": 2_400,
        "not_records": 1_600,
    }
    widths = {one.kind: one.width for one in first.segments}
    assert widths["applied"] / widths["late"] == pytest.approx(1_920 / 36, rel=0.01)
    assert widths["quarantined"] == widths["not_records"] == pytest.approx(LEAST, rel=0.01)
    assert sum(widths.values()) == pytest.approx(LENGTH, abs=0.1)
    assert [one.x for one in first.segments[1:]] == pytest.approx([*accumulate(widths.values())][:-1], abs=0.1)


@pytest.mark.parametrize("us", [-(1 << 63), 1 << 62, (1 << 63) - 1])
def test_whatever_a_fault_has_left_in_a_key_or_cell_is_told(us: int) -> None:
    report = sample_report(differing=1)
    (one,) = report.views[0].differences
    row = replace(one.row, key=RowKey(us, (us,)), live=(us,) * len(ZONE_DEMAND.cells))
    report.views[0].differences = [replace(one, row=row)]
    told = read(report)
    assert f"zone {us}" in told
    assert f"{us:,}" in told


def test_cells_that_differ_in_their_last_digit_do_not_look_alike() -> None:
    report = sample_report(differing=1)
    (one,) = report.views[0].differences
    live = one.row.live
    assert live is not None
    right = (*live[:-1], live[-1] + 3_600_000_001)
    close = (*live[:-1], live[-1] + 3_600_000_000)
    row = replace(one.row, live=close, changelog=close, recomputed=right)
    report.views[0].differences = [replace(one, row=row)]
    told = read(report)
    assert f"{right[-1]:,}" in told
    assert f"{close[-1]:,}" in told


def test_differences_stand_in_the_hours_of_their_windows_or_days_where_there_are_many_hours() -> None:
    quarters = times(sample_report())
    assert quarters.stretch == "an hour"
    assert [bar.rows for bar in quarters.bars] == [4] * 15
    assert quarters.bars[0].since == "2026-01-05T05:00:00+00:00"
    days = times(sample_report(spread_us=24 * HOUR_US))
    assert (days.stretch, len(days.bars)) == ("a day", 60)
    years = times(sample_report(spread_us=24 * 30 * HOUR_US))
    assert years.stretch == "19 days"
    assert len(years.bars) <= MOST_BARS
    assert sum(bar.rows for bar in years.bars) == 60
    assert by_time([{"window_start_us": None}]) is None


def times(report: Report) -> TimeBars:
    found = by_time(report.as_json()["views"][0]["differences"])
    assert found is not None
    return found

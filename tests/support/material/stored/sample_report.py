"""A report of a run that found something of every kind, made by hand."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from app.base.files.verdicts import Verdict
from app.domain.difference import ComparedRow, DifferenceKind, Fate, Witness
from app.domain.fingerprint import Origin, pack
from app.domain.marker import InputPosition, Marker, ViewPosition
from app.domain.naming.gathered import NamedRun
from app.domain.naming.row_difference import RowDifference
from app.domain.naming.runs import OffsetRun
from app.domain.records import Place
from app.domain.rows import RowKey
from app.rides.lifecycle.pairing import FARED_STARTS
from app.rides.ride import RIDES
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from spark_batch.findings.completeness import Completeness, Incomplete, IncompleteRow, ListedRecord
from spark_batch.findings.finals import ComparedFinals, FinalDifference
from spark_batch.findings.report import Report
from spark_batch.findings.results import ComparedResults, PairingReport, ResultDifference
from spark_batch.findings.view_report import ViewReport
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry
from tests.support.material.histories import START_US, random_log
from tests.support.material.stored.tables import cells_of

HOUR_US = 3_600_000_000
FAR_US = START_US + 8_760 * HOUR_US
BEGUN = datetime(2026, 1, 6, 3, tzinfo=UTC)
TOPICS = [topic.name for topic in RIDES.topics]
CLASSES = list(DifferenceKind)
FINAL_AT = Place("windows.zone_demand", 1, 4_711)


def sample_report(*, differing: int = 60, spread_us: int = HOUR_US // 4) -> Report:
    """Rows of `zone_demand` that differ, so far from one another; `vendor_trips` right; a join with one result lost."""
    report = Report("20260106T030000-a1b2", "flagfall", BEGUN, {"flagfall": "0.1.0", "pyspark": "4.0.0"})
    report.verdict, report.finished_at = Verdict.MISMATCH, BEGUN + timedelta(minutes=3)
    report.records, report.usable_today, report.seconds = 2_004_711, 3, {"read": 20.5, "compare": 8.25}
    zones = ViewReport(
        ZONE_DEMAND,
        [cut_of(partition) for partition in range(2)],
        *[23_412] * 3,
        differing,
        differing,
        [difference(at, START_US + at * spread_us) for at in range(differing)],
        [entry for topic in TOPICS for partition in range(2) for entry in _ledger(topic, partition)],
        2,
        [NamedRun(DifferenceKind.DOUBLED, OffsetRun(TOPICS[0], 1, 1_000, 20_999, 20_000), 3_012)],
        _completeness(),
        _finals(),
    )
    report.views = [zones, ViewReport(VENDOR_TRIPS, [], 96, 96, 96, 0, 0, [], [], 0)]
    report.pairings = [_pairing()]
    return report


def difference(at: int, window_start_us: int) -> RowDifference:
    """The at-th: of every class in turn, with a record whose id is as odd as a stream may have it."""
    rng = random.Random(at)
    record = next(one for one in random_log(rng, TOPICS[0], 1, 40).records if one.values[RIDES.id])
    record.values["ride_id"] = f"<script>alert({at})</script>"
    key = RowKey(window_start_us, (None if at == 7 else 132 + at % 5,))
    kind, cells = CLASSES[at % len(CLASSES)], cells_of(ZONE_DEMAND, at)
    if kind is DifferenceKind.UNNAMED:
        row = ComparedRow(1, key, cells, cells, None)
        return RowDifference(kind, row, ZONE_DEMAND.cells, unexplained=ZONE_DEMAND.cells, why="nothing fits")
    packed = pack(Origin(RIDES.topics[0].number, 1, record.offset))
    other = cells_of(ZONE_DEMAND, at + 1)
    run = OffsetRun(TOPICS[0], 1, record.offset, record.offset, 1)
    witness = Witness(record, key, Fate.APPLIED)
    row = ComparedRow(1, key, cells, cells, other)
    return RowDifference(kind, row, ("count", "fare_cents"), {packed: -1}, (run,), (witness,), 1)


def cut_of(partition: int, watermark_us: int = FAR_US) -> TaskCut:
    """Of `zone_demand`, all of whose windows have closed by default."""
    inputs = {topic: InputPosition(f"id-of-{topic}", 0, 1_000_000, watermark_us=watermark_us) for topic in TOPICS}
    views = {ZONE_DEMAND.name: ViewPosition(ZONE_DEMAND.number, ZONE_DEMAND.version)}
    return TaskCut.of(ZONE_DEMAND, partition, Marker("flagfall", 1, partition, 812, inputs, views), 90_125)


def _finals() -> ComparedFinals:
    """One of each class, and of what is no difference."""
    lost, doubled, altered, made_up = (
        FinalDifference(kind, RowKey(START_US, (132 + at,)), place, told, own)
        for at, (kind, place, told, own) in enumerate(
            [
                (DifferenceKind.LOST, None, None, cells_of(ZONE_DEMAND, 1)),
                (DifferenceKind.DOUBLED, FINAL_AT, cells_of(ZONE_DEMAND, 2), cells_of(ZONE_DEMAND, 2)),
                (DifferenceKind.ALTERED, FINAL_AT, cells_of(ZONE_DEMAND, 3), cells_of(ZONE_DEMAND, 4)),
                (DifferenceKind.UNNAMED, FINAL_AT, (1, 2), None),
            ]
        )
    )
    found = [lost, doubled, altered, made_up]
    return ComparedFinals(FAR_US, 18_044, 2, 3, 5, {one.kind: 1 for one in found}, found)


def _ledger(topic: str, partition: int) -> list[LedgerEntry]:
    figures = {
        "decoded": 998_000,
        "quarantined": 1_200,
        "not_records": 800,
        "watermark_us": START_US,
        "applied": 960_000,
        "late": 18_000,
        "out_of_scope": 0,
    }
    off = {"applied": 1} if (topic, partition) == (TOPICS[0], 1) else {}
    return [LedgerEntry(topic, partition, name, n - off.get(name, 0), n) for name, n in figures.items()]


def _completeness() -> Completeness:
    records = [ListedRecord(Incomplete.LATE, TOPICS[1], 0, 4_711, 1)]
    first = [IncompleteRow(0, START_US, (132,), 12, 13, records)]
    return Completeness(23_500, 512, dict(zip(Incomplete, (486, 0, 40, 0), strict=True)), 0, first)


def _pairing() -> PairingReport:
    ids = (pack(Origin(FARED_STARTS.source.topics[0].number, 0, 5)), None)
    lost = ResultDifference(DifferenceKind.LOST, 0, ids, None, None, {"ride_id": "r1", "fare_cents": 1250})
    compared = ComparedResults(1_000, 0, 0, 12, {DifferenceKind.LOST: 1}, [lost])
    return PairingReport(FARED_STARTS, [], compared, [])

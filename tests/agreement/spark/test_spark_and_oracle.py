"""Spark's translation of a view gives what the naive fold gives: rows, fates, reasons, watermarks."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import Origin, mix, pack
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import Folded, fold
from app.domain.oracle.view_fold import final_rows as naive_finals
from app.domain.records import Record, TopicPartition, Value, as_integer
from app.domain.rows import Cells, RowKey, end_of, last_of
from app.domain.rules.admission import refusal
from app.domain.source import with_derived
from app.domain.view import View
from app.rides.ride import HOUR_US, RIDES
from app.rides.views import VIEWS
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.finals import final_rows
from spark_batch.folds.recompute import rows
from spark_batch.folds.recount import Recount, counted, recount
from spark_batch.folds.windows import ROW_END
from spark_batch.source.read_source import kept_columns, read_source
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.row_frames import cells_of, key_of, own_group_columns
from tests.support.material.histories import (
    SCHEMAS,
    START_US,
    TOPIC_NAMES,
    Log,
    encode,
    random_advances,
    random_log,
    random_ride,
)
from tests.support.material.views import ALL_VIEWS, ODD_WINDOWS, PLAIN_VIEWS, SHIFTS, UNGROUPED
from tests.support.spark_logs import as_kafka

pytestmark = pytest.mark.spark

PARTITIONS = (0, 3)
EXPIRED_TO_US = {3: START_US + 30 * HOUR_US + 1}
"""By partition; no window of any kind ends there."""
CLOSED_TO_US = START_US + 40 * HOUR_US


def cuts_of(view: View, logs: list[Log]) -> list[TaskCut]:
    """A cut at the end of all logs; one of the tasks has let rows of its first hours go."""
    inputs = {log.topic: InputPosition("i", 0, log.next_offset) for log in logs}
    cuts = []
    for partition in PARTITIONS:
        position = ViewPosition(view.number, view.version, expired_to_us=EXPIRED_TO_US.get(partition))
        cuts.append(TaskCut.of(view, partition, Marker("a", 1, partition, 1, inputs, {view.name: position}), 0))
    return cuts


def expected_rows(view: View, folded: Folded) -> dict[tuple[int, RowKey], Cells]:
    """The oracle's rows less those that are gone."""
    return {
        (partition, key): cells
        for partition, held in folded.rows.items()
        for key, cells in held.items()
        if not view.window.ends or end_of(view, key, cells) > EXPIRED_TO_US.get(partition, NO_WATERMARK)
    }


def recounts(
    spark: SparkSession,
    logs: list[Log],
    folder: Path,
    advances: list[Advance],
    views: Sequence[View] = PLAIN_VIEWS,
) -> dict[View, Recount]:
    records = read_source(as_kafka(spark, logs), RIDES, SCHEMAS, folder)
    marked = with_watermark(records, RIDES, advances).cache()
    return {view: recount(view, cuts_of(view, logs), marked, ToldCorrections("none", ())) for view in views}


def finals_of(view: View, own: Recount) -> dict[RowKey, Cells]:
    """Some, not all; each with the end that the domain gives it."""
    made = own.corrected.rows
    columns = own_group_columns(view)
    finals = {
        RowKey(row["window_start_us"], tuple(row[name] for name in columns)): (row[ROW_END], cells_of(view, row))
        for row in final_rows(view, made, CLOSED_TO_US).collect()
    }
    ends = {
        key: view.window.window_end(as_integer(key.window_start_us), last_of(view, c)) for key, (_, c) in finals.items()
    }
    assert ends == {key: end_us for key, (end_us, _) in finals.items()}
    assert 0 < len(finals) < final_rows(view, made, CLOSED_TO_US * 2).count()
    return {key: cells for key, (_, cells) in finals.items()}


@pytest.mark.parametrize(
    ("seed", "views"), [(1, PLAIN_VIEWS), (2, (*ODD_WINDOWS, SHIFTS)), (3, PLAIN_VIEWS)], ids=["1", "odd windows", "3"]
)
def test_rows_finals_ledgers_and_watermarks_are_those_of_the_naive_fold(
    seed: int, views: Sequence[View], spark: SparkSession, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    logs = [random_log(rng, topic, p, 400) for topic in TOPIC_NAMES[:3] for p in PARTITIONS]
    advances = random_advances(rng, logs)
    everything = [record for log in logs for record in log.records]
    for view, own in recounts(spark, logs, tmp_path, advances, views).items():
        expected = fold(view, everything, advances)
        found = {(row["task"], key_of(view, row)): cells_of(view, row) for row in own.rows.collect()}
        assert found == expected_rows(view, expected)
        if view.window.ends:
            assert 0 < len(found) < sum(map(len, expected.rows.values()))
            assert finals_of(view, own) == naive_finals(view, expected.rows.values(), CLOSED_TO_US)
        figures = counted(own)
        assert _total(figures.values()) == Fates(len(expected.applied), len(expected.late), len(expected.out_of_scope))
        poisoned = sum(len(log.poisoned) for log in logs)
        assert sum(f.quarantined for f in figures.values()) == len(expected.quarantined) + poisoned
        if not advances:
            seen = {at: f.highest_us for at, f in figures.items() if f.decoded}
            assert seen == {at: expected.watermarks[at] for at in seen}


def test_every_reason_is_the_oracles_own(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(7)
    logs = [random_log(rng, TOPIC_NAMES[0], 0, 3000)]
    records = read_source(as_kafka(spark, logs), RIDES, SCHEMAS, tmp_path)
    found = {r["offset"]: r["reason"] for r in records.where("reason is not null").collect()}
    expected = {refused.offset: refused.reason for refused in fold(VIEWS[0], logs[0].records).quarantined}
    assert {offset: found[offset] for offset in expected} == expected
    assert set(found) == set(expected) | set(logs[0].poisoned)
    assert {found[offset] for offset in logs[0].poisoned} >= {"null_value", "too_short", "bad_magic"}


def test_damaged_bytes_fare_as_in_the_strict_decoder(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(13)
    log = Log(TOPIC_NAMES[0], 0)
    for offset in range(3000):
        values = random_ride(rng, offset, START_US)
        log.entries.append((offset, START_US // 1000, damaged(rng, encode(values))))
    read = read_source(as_kafka(spark, [log]), RIDES, UNKNOWN_TO_NONE, tmp_path)
    found = {row["offset"]: row for row in read.collect()}
    for offset, timestamp_ms, value in log.entries:
        reason, values = expected_of(log, offset, timestamp_ms, value)
        row = found[offset]
        assert (offset, row["reason"]) == (offset, reason)
        if reason is None:
            assert {name: row[name] for name in kept_columns(RIDES, ALL_VIEWS)} == {
                name: values[name] for name in kept_columns(RIDES, ALL_VIEWS)
            }
    assert len({row["reason"] for row in found.values()}) > 5


def damaged(rng: random.Random, value: bytes) -> bytes:
    """The value with some bytes changed, gone or added; about one in ten is left alone."""
    raw = bytearray(value)
    kind = rng.randrange(10)
    if kind < 6:
        for _ in range(rng.choice((1, 1, 2, 3))):
            at = rng.randrange(rng.choice((0, 5, 5, 5)), len(raw))
            raw[at] = rng.choice((raw[at] ^ (1 << rng.randrange(8)), rng.randrange(256), 0x80, 0xFF))
    elif kind == 6:
        del raw[rng.randrange(len(raw)) :]
    elif kind == 7:
        raw += bytes(rng.choices(range(256), k=rng.choice((1, 2, 9))))
    elif kind == 8:
        del raw[(at := rng.randrange(5, len(raw))) : at + 1]
    return bytes(raw)


def expected_of(log: Log, offset: int, timestamp_ms: int, value: bytes | None) -> tuple[str | None, dict[str, Value]]:
    """Reason and values by the strict decoder and the oracle's own rules."""
    told = StrictDecoder(RIDES.columns).decode(value, UNKNOWN_TO_NONE)
    if isinstance(told, Unreadable):
        return told.reason, {}
    record = Record(log.topic, log.partition, offset, timestamp_ms, told)
    values = with_derived(RIDES, told)
    return refusal(VIEWS[0].source, record, values), values


UNKNOWN_TO_NONE = defaultdict(lambda: None, SCHEMAS)


def test_a_watermark_does_not_depend_on_where_chunks_of_offsets_end(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(11)
    logs = [random_log(rng, TOPIC_NAMES[0], p, 300) for p in PARTITIONS]
    advances = [Advance(TOPIC_NAMES[0], 3, 0, 1), *random_advances(rng, logs)]
    monkeypatch.setattr("spark_batch.source.watermark.CHUNK_OFFSETS", 7)
    own = recounts(spark, logs, tmp_path, advances)[VIEWS[0]]
    expected = fold(VIEWS[0], [record for log in logs for record in log.records], advances)
    late = own.covered.where("fate = 'late'").select("partition", "offset").collect()
    assert {tuple(row) for row in late} == {(r.partition, r.offset) for r in expected.late}
    assert late


def test_fingerprints_wrap_around_as_they_do_elsewhere(spark: SparkSession) -> None:
    view = UNGROUPED
    numbers = [1, 4, 4, 1]
    partitions = [0, 4095, 3, 0]
    offsets = [0, (1 << 44) - 1, 12345678901, 1]
    told = [(n, p, o, p, None, None, None, 0, "applied") for n, p, o in zip(numbers, partitions, offsets, strict=True)]
    schema = (
        "topic_number int, partition int, offset long, task int, window_start_us long, dropoff_at_us long, "
        "pickup_at_us long, reported_at_us long, fate string"
    )
    found = {row["task"]: row["cell_1"] for row in rows(view, spark.createDataFrame(told, schema)).collect()}
    one = [mix(pack(Origin(*o))) for o in zip(numbers, partitions, offsets, strict=True)]
    both = (one[0] + one[3] + (1 << 63)) % (1 << 64) - (1 << 63)
    assert found == {0: both, 4095: one[1], 3: one[2]}


def _total(figures: object) -> Fates:
    total = Fates()
    for one in figures:  # type: ignore[attr-defined]
        total = total.plus(one.fates)
    return total


def test_task_and_topic_partition_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(5)
    logs = [random_log(rng, TOPIC_NAMES[1], p, 50) for p in PARTITIONS]
    figures = counted(recounts(spark, logs, tmp_path, [])[UNGROUPED])
    assert set(figures) == {TopicPartition(TOPIC_NAMES[1], p) for p in PARTITIONS}

"""Runs that keep what they have read: the next reads only what came since, and finds the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import polars
import pytest
from confluent_kafka import TopicPartition as KafkaPlace
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.files.held_alone import held_alone
from app.base.files.verdicts import Verdict
from app.base.kafka.clients import librdkafka_options
from app.base.settings import Settings
from app.domain.oracle.view_fold import final_rows, fold
from app.domain.records import Place, Reason
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.edge.http.past.gold_files import GoldFiles, GoldRange
from app.edge.http.rows.fold_rows import key_at
from app.rides.ride import RIDES
from spark_batch.errors import AnotherRun, Inconclusive
from spark_batch.layers.history import History
from spark_batch.layers.layer_table import LayerTable
from spark_batch.source.kafka_range import RECORD_SCHEMA
from spark_batch.stored.cut import Span
from tests.support.machine.asking import results
from tests.support.material.histories import START_US
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.gold import day_of
from tests.support.material.stored.world import PARTITIONS, World, new_world
from tests.support.material.stored.written import write_poison, write_random_rides, write_refused
from tests.support.reconciled import SEED, Checked, check, known_too_late, poison

RIDES_EACH = 40


@pytest.fixture(scope="module")
def world(services: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Runs over it keep a history."""
    with new_world(services) as made:
        yield _kept_in(made, tmp_path_factory.mktemp("history"))


@pytest.fixture(scope="module")
def nights(world: World, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> list[Checked]:
    """Two runs, with rides, poison, and records that were refused for what was so then before each."""
    found = []
    for night in range(2):
        write_random_rides(world, SEED + night, RIDES_EACH)
        write_poison(world, poison(world), START_US // 1000)
        write_refused(world, write_poison(world, known_too_late(world), START_US // 1000), Reason.UNKNOWN_SCHEMA)
        fold_tasks(world)
        found.append(check(world, spark, tmp_path_factory.mktemp("night")))
    return found


def test_each_night_finds_all_records_and_the_second_reads_only_what_came_since(
    world: World, nights: list[Checked]
) -> None:
    assert [(one.report.reason, one.report.verdict) for one in nights] == [(None, Verdict.MATCH)] * 2
    assert nights[1].document["records"] == len(world.records) + len(world.poisoned)
    assert sum(one.document["offsets_read"] for one in nights) == _offsets(world)
    assert all(one.document["offsets_read"] > 0 for one in nights)


def test_what_could_be_used_today_is_told_by_every_run(world: World, nights: list[Checked]) -> None:
    refused = len(known_too_late(world))
    assert [one.document["usable_today"] for one in nights] == [refused, 2 * refused]


def test_layers_that_grew_are_those_that_are_made_at_once(
    world: World, nights: list[Checked], spark: SparkSession, tmp_path: Path
) -> None:
    at_once = _kept_in(replace(world, tasks={}), tmp_path / "history")
    fold_tasks(at_once)
    found = check(at_once, spark, tmp_path)
    assert (found.report.verdict, found.document["offsets_read"]) == (Verdict.MATCH, _offsets(world))
    for grown, made in zip(_layers(spark, world), _layers(spark, at_once), strict=True):
        assert grown.exceptAll(made).count() == made.exceptAll(grown).count() == 0
        assert grown.count() == len(world.records) + len(world.poisoned)


def test_gold_has_the_final_rows_of_views_by_day(world: World, nights: list[Checked], spark: SparkSession) -> None:
    for view in (one for one in world.views if one.window.ends):
        gold = History(spark, _history(world)).gold(view)
        assert (gold.told["run"], gold.told["final_to_us"]) == (nights[1].report.run_id, _final_to_us(world, view))
        names = [group.name for group in view.groups]
        found = gold.rows().collect()
        rows = {
            RowKey(row["window_start_us"], tuple(row[name] for name in names)): tuple(row[name] for name in view.cells)
            for row in found
        }
        assert rows == _final_rows(world, view)
        assert len(found) == len(rows) > 0
        assert all(row["window_day"] == day_of(row["window_start_us"]) for row in found)
        days = {f"window_day={row['window_day']}" for row in found}
        assert {folder.name for folder in gold.folder.glob("window_day=*")} == days


def test_workers_read_gold_as_spark_has_written_it(world: World, nights: list[Checked], spark: SparkSession) -> None:
    for view in (one for one in world.views if one.window.ends):
        gold = GoldFiles.of(_history(world), view)
        assert gold is not None
        assert (gold.run_id, gold.final_to_us) == (nights[1].report.run_id, _final_to_us(world, view))
        rows = gold.rows(GoldRange(None, gold.final_to_us, {}))
        found = {key_at(rows, at): tuple(rows.cells[at].tolist()) for at in range(len(rows))}
        assert len(found) == len(rows)
        assert found == _final_rows(world, view)


def test_programs_without_a_jvm_read_the_same_rows(world: World, nights: list[Checked], spark: SparkSession) -> None:
    """As docs/history.md has it."""
    tables = list(_history(world).glob("*/*/"))
    assert len(tables) > 2
    for folder in tables:
        count = spark.read.format("delta").load(str(folder)).count()
        in_duckdb = duckdb.from_arrow(DeltaTable(folder).to_pyarrow_dataset())
        assert (polars.read_delta(str(folder)).height, in_duckdb.count("*").fetchall()) == (count, [(count,)])


def test_a_source_that_is_declared_otherwise_is_decoded_anew_and_not_read_anew(
    world: World, nights: list[Checked], spark: SparkSession, tmp_path: Path
) -> None:
    source = replace(world.source, skew_seconds=world.source.skew_seconds + 1)
    views = tuple(replace(view, source=source) for view in world.views)
    changed = replace(world, source=source, views=views, tasks={})
    fold_tasks(changed)
    found = check(changed, spark, tmp_path)
    assert (found.report.verdict, found.document["offsets_read"]) == (Verdict.MATCH, 0)
    assert len(list((_history(world) / "silver").iterdir())) == 2


def test_records_that_their_topics_have_let_go_are_in_the_history(
    services: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    with new_world(services, topics=1) as world:
        write_random_rides(world, SEED, RIDES_EACH)
        fold_tasks(world)
        check(_kept_in(world, tmp_path / "history"), spark, tmp_path / "first")
        _let_go(world)
        found = check(world, spark, tmp_path / "second")
        assert (found.report.reason, found.report.verdict) == (None, Verdict.MATCH)
        world.settings = world.settings.model_copy(update={"history_dir": None})
        without = check(world, spark, tmp_path / "without")
        assert without.report.verdict is Verdict.INVALID
        assert "the log now starts at" in str(without.report.reason)


def test_a_run_that_breaks_off_between_two_layers_is_gone_on_with(
    small_world: World, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, append = _kept_in(small_world, tmp_path / "history"), LayerTable.append

    def only_bronze(table: LayerTable, rows: DataFrame, spans: list[Span]) -> None:
        if table.folder.parent.name != "bronze":
            raise KeyboardInterrupt
        append(table, rows, spans)

    with monkeypatch.context() as patched:
        patched.setattr(LayerTable, "append", only_bronze)
        with pytest.raises(KeyboardInterrupt):
            check(world, spark, tmp_path / "broken off")
    found = check(world, spark, tmp_path / "again")
    assert (found.report.verdict, found.document["offsets_read"]) == (Verdict.MATCH, 0)
    assert found.document["records"] == len(world.records) + len(world.poisoned)


def test_two_runs_exclude_each_other(small_world: World, spark: SparkSession, tmp_path: Path) -> None:
    world = _kept_in(small_world, tmp_path / "history")
    with held_alone(_history(world) / ".lock"), pytest.raises(AnotherRun, match="another run is adding to"):
        check(world, spark, tmp_path / "second")
    written = [path for path in (tmp_path / "second").iterdir() if path.suffix != ".lock"]
    assert written == [], "no report, and the verdict that was found last stays told"


def test_of_two_that_add_at_once_one_is_refused_and_adds_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """Where the lock does not reach, as on some network's folders."""
    rows = spark.createDataFrame([(1,)], "offset long")
    first, second = (LayerTable(spark, tmp_path / "table") for _ in range(2))
    first.append(rows, [Span("rides", 0, 0, 10)])
    with pytest.raises(Inconclusive, match="another run has written"):
        second.append(rows, [Span("rides", 0, 0, 20)])
    assert [row["offset"] for row in first.rows().collect()] == [1]
    assert LayerTable(spark, tmp_path / "table").covered == [Span("rides", 0, 0, 10)]


def test_records_that_were_not_settled_are_judged_by_what_is_so_today(spark: SparkSession, tmp_path: Path) -> None:
    """Even when nobody tells any more that they were refused for what was so then."""
    topic = RIDES.topics[0].name
    places = [Place(topic, 0, offset) for offset in range(3)]

    def read(spans: Sequence[Span], keep: Callable[[DataFrame], None]) -> None:
        keep(spark.createDataFrame([(*place, 0, None, b"value") for place in places], RECORD_SCHEMA))

    def reasons_of_a_run(refused: list[Place], reason: str) -> dict[int, str]:
        def judge(raw: DataFrame) -> DataFrame:
            told = {"reason": F.lit(reason), "usable_today": F.lit(False)}
            return raw.select("topic_number", "partition", "offset", "timestamp_ms").withColumns(told)

        history = History(spark, tmp_path)
        records = history.records(RIDES, [Span(topic, 0, 0, 3)], [], refused, read, judge)
        return {row["offset"]: row["reason"] for row in records.collect()}

    assert reasons_of_a_run([places[1]], "then") == {0: "then", 1: "then", 2: "then"}
    assert reasons_of_a_run([], "today") == {0: "then", 1: "today", 2: "then"}
    assert reasons_of_a_run([places[2]], "today") == {0: "then", 1: "today", 2: "today"}


def _final_to_us(world: World, view: View) -> int:
    inputs = (position for stored in world.tasks.values() for position in stored.marker.inputs.values())
    return min(position.watermark_us for position in inputs) - view.grace_us


def _final_rows(world: World, view: View) -> dict[RowKey, Cells]:
    return final_rows(view, fold(view, world.records, world.advances).rows.values(), _final_to_us(world, view))


def _kept_in(world: World, folder: Path) -> World:
    world.settings = world.settings.model_copy(update={"history_dir": folder})
    return world


def _history(world: World) -> Path:
    assert world.settings.history_dir is not None
    return world.settings.history_dir / world.settings.app_id


def _offsets(world: World) -> int:
    """Of the source's topics, all that tasks have read."""
    inputs = (position for stored in world.tasks.values() for position in stored.marker.inputs.values())
    return sum(position.next_offset - position.start_offset for position in inputs)


def _layers(spark: SparkSession, world: World) -> list[DataFrame]:
    tables = (folder for layer in ("bronze", "silver") for folder in (_history(world) / layer).iterdir())
    return [spark.read.format("delta").load(str(folder)) for folder in tables]


def _let_go(world: World) -> None:
    """As a topic's retention lets its first records go."""
    topic, admin = world.source.topics[0].name, AdminClient(librdkafka_options(world.settings.kafka))
    results(admin.delete_records([KafkaPlace(topic, p, 20) for p in range(PARTITIONS)]).values(), "records go", 30)

"""A view kept by Spark's stream beside the tables: where the two differ, listed records explain it, to the last row."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.files.verdicts import Verdict
from app.base.settings import Settings
from app.base.terminal import Terminal
from app.domain.oracle.view_fold import fold
from app.domain.records import TopicPartition
from app.rides.views import VIEWS
from spark_batch.errors import AnotherRun, Invalid
from spark_batch.findings.shown.report import show
from spark_batch.findings.third import OneSided
from spark_batch.findings.words import OF_THIRD
from spark_batch.stored.row_frames import key_columns, row_schema
from spark_batch.third.batch import ThirdBatch
from spark_batch.third.place import Subject, ThirdPlace
from spark_batch.third.table import ThirdTable
from tests.support.machine.world import delete_records
from tests.support.material.histories import START_US
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.third import keep, topic_ids
from tests.support.material.stored.world import World, new_world
from tests.support.material.stored.written import write_poison, write_random_rides
from tests.support.reconciled import SEED, Checked, check, poison

COUNT = 70


@pytest.fixture(scope="module")
def world(services: Settings) -> Iterator[World]:
    """Rides in and out of time, and among them records that the strict decoder alone can judge."""
    with new_world(services, views=VIEWS[:1]) as made:
        write_random_rides(made, SEED, COUNT)
        write_poison(made, poison(made), START_US // 1000)
        write_random_rides(made, SEED + 1, COUNT)
        fold_tasks(made)
        yield made


@pytest.fixture(scope="module")
def root(world: World, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of third opinions: of the first view, which has read all that there is."""
    folder = tmp_path_factory.mktemp("third")
    keep(world, spark, folder)
    return folder


@pytest.fixture(scope="module")
def found(world: World, spark: SparkSession, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """What the reconciliation says of it."""
    return check(world, spark, tmp_path_factory.mktemp("runs"), third=root)


def test_what_differs_is_explained_by_records_that_only_one_of_the_two_counts(world: World, found: Checked) -> None:
    told = found.document["views"][0]["third"]
    assert (found.report.reason, found.report.verdict) == (None, Verdict.MATCH)
    assert (told["why_not"], told["residual"], told["unexplained"]) == (None, 0, [])
    assert told["batch"] > 1
    assert told["one_sided"] == len(told["records"]) > 0
    assert 0 < told["differing_rows"] < told["rows"]
    late = {(r.topic, r.partition, r.offset) for r in fold(world.view, world.records, world.advances).late}
    sides = {
        side: {place(one) for one in told["records"] if one["side"] == side}
        for side in ("not_in_third", "only_in_third")
    }
    assert sides["only_in_third"] <= late
    assert not sides["not_in_third"] & late
    show(found.report, Path("folder"), Terminal(file=(shown := StringIO()), width=200))
    assert f"differ by {told['one_sided']:,} records, 0 unexplained\n" in shown.getvalue()
    first = told["records"][0]
    assert f" at {first['offset']}, {first['id']}: {OF_THIRD[OneSided(first['side'])]}, zone" in shown.getvalue()


def test_a_row_that_the_querys_records_do_not_make_is_unexplained(
    world: World, spark: SparkSession, root: Path, tmp_path: Path
) -> None:
    rows = str(ThirdPlace.of(root, world.settings.app_id, world.view).folder / "rows")
    kept = spark.read.format("delta").load(rows)
    version = spark.sql(f"describe history delta.`{rows}`").agg(F.max("version")).collect()[0][0]
    newest = kept.orderBy(F.col("batch").desc()).first()
    assert newest is not None
    held = {name: newest[name] for name in ("batch", *key_columns(world.view))}
    one_row = " and ".join(f"{name} <=> {'null' if value is None else value}" for name, value in held.items())
    spark.sql(f"update delta.`{rows}` set cell_0 = cell_0 + 1 where {one_row}")
    try:
        altered = check(world, spark, tmp_path, third=root)
    finally:
        spark.sql(f"restore table delta.`{rows}` to version as of {version}")

    told = altered.document["views"][0]["third"]
    assert (altered.report.verdict, altered.report.residual, told["residual"]) == (Verdict.MISMATCH, 1, 1)
    (one,) = told["unexplained"]
    assert one["third"]["count"] == one["recomputed"]["count"] + 1


def test_a_query_that_has_read_further_is_compared_as_of_a_batch_that_the_tables_cover(
    world: World, spark: SparkSession, root: Path, found: Checked, tmp_path: Path
) -> None:
    write_random_rides(world, SEED + 2, COUNT // 2)
    keep(world, spark, root)  # goes on where it was; the tables do not

    behind = check(world, spark, tmp_path, third=root)

    assert behind.report.verdict is Verdict.MATCH
    assert behind.document["views"][0]["third"] == found.document["views"][0]["third"]


def test_a_query_that_the_tables_do_not_cover_leaves_the_run_inconclusive(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    view, root = small_world.view, tmp_path / "third"
    place = ThirdPlace.of(root, small_world.settings.app_id, view)
    beyond = {TopicPartition(small_world.source.topics[0].name, 0): 1_000}
    with place.held_for(Subject.of(view, topic_ids(small_world))):
        nothing = spark.createDataFrame([], row_schema(view))
        ThirdTable(spark, place.folder).take(ThirdBatch(0, beyond, 0), {}, nothing)

    found = check(small_world, spark, tmp_path / "runs", third=root)

    assert found.report.verdict is Verdict.INCONCLUSIVE
    assert "its query has kept no batch yet that the tables cover" in str(found.report.reason)


def test_a_query_whose_unread_records_were_deleted_is_refused_with_what_is_gone_and_begins_anew(
    small_world: World, spark: SparkSession, tmp_path: Path
) -> None:
    view, cluster = small_world.view, small_world.cluster
    place = ThirdPlace.of(tmp_path, small_world.settings.app_id, view)
    keep(small_world, spark, tmp_path)
    reached = place.reached
    assert reached == cluster.log_ends(reached, committed=False)
    write_random_rides(small_world, SEED + 1, 10)
    delete_records(small_world.settings, {(at.topic, at.partition): end for at, end in reached.items()})
    place.require_unread(view.name, cluster.log_starts(reached))

    ends = cluster.log_ends(reached, committed=False)
    delete_records(small_world.settings, {(at.topic, at.partition): end for at, end in ends.items()})

    first = min(at for at in reached if reached[at] < ends[at])
    gone = rf"{first.topic}-{first.partition} has no more offsets {reached[first]} to {ends[first] - 1}"
    with pytest.raises(Invalid, match=rf"{gone}.*move {place.folder} away, and `flagfall third {view.name}` begins"):
        place.require_unread(view.name, cluster.log_starts(reached))
    place.folder.rename(tmp_path / "away")
    assert place.reached == {}
    keep(small_world, spark, tmp_path)


@pytest.fixture(scope="module")
def kept_twice(
    services: Settings, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Subject, Path, Path]]:
    """What a query is about, its folder as it was before its last records came, and behind them."""
    root = tmp_path_factory.mktemp("kept")
    with new_world(services, topics=1) as made:
        for when in ("before", "after"):
            write_random_rides(made, SEED, 10)
            keep(made, spark, root)
            shutil.copytree(ThirdPlace.of(root, made.settings.app_id, made.view).folder, root / when)
        yield Subject.of(made.view, topic_ids(made)), root / "before", root / "after"


@pytest.mark.parametrize(
    ("part", "is_older", "words"),
    [
        ("checkpoint", False, r"keeps batches up to \d+, and no checkpoint"),
        ("checkpoint", True, r"keeps batches up to \d+, and its checkpoint ends with \d+"),
        ("rows", False, r"checkpoint counts batch \d+ as done, and rows has none"),
        ("rows", True, r"checkpoint counts batch \d+ as done, and rows ends with \d+"),
        ("batches", False, r"checkpoint has read \S+-\d to \d+, and batches to 0"),
        ("batches", True, r"checkpoint has read \S+-\d to \d+, and batches to \d+"),
        ("checkpoint/offsets", False, r"its checkpoint has no offsets of batch \d+"),
        ("checkpoint/sources", False, r"its checkpoint does not say where it began"),
        ("subject.json", False, r"nothing there says what its query is about"),
    ],
)
def test_a_folder_of_which_a_part_is_gone_or_older_is_refused_before_anything_is_written(
    kept_twice: tuple[Subject, Path, Path], tmp_path: Path, part: str, is_older: bool, words: str
) -> None:
    subject, before, after = kept_twice
    place = ThirdPlace(shutil.copytree(after, tmp_path / "third"))
    with place.held_for(subject):
        pass
    (place.folder / part).rename(tmp_path / "away")
    if is_older:
        shutil.copytree(before / part, place.folder / part)
    there = sorted(place.folder.rglob("*"))
    advice = f"move {place.folder} away as a whole, and `flagfall third {subject.view}` begins anew"
    with pytest.raises(Invalid, match=rf"{words}.*{advice}"), place.held_for(subject):
        pass
    assert sorted(place.folder.rglob("*")) == there


@pytest.mark.parametrize("is_told", [True, False])
def test_a_query_that_was_killed_before_spark_counted_its_batch_as_done_goes_on(
    kept_twice: tuple[Subject, Path, Path], tmp_path: Path, is_told: bool
) -> None:
    subject, _, after = kept_twice
    place = ThirdPlace(shutil.copytree(after, tmp_path / "third"))
    last = max(int(file.name) for file in (place.checkpoint / "commits").glob("[0-9]*"))
    (place.checkpoint / "commits" / str(last)).unlink()
    if not is_told:
        max((place.folder / "batches" / "_delta_log").glob("*.json")).unlink()
    with place.held_for(subject):
        pass


def test_a_folder_is_of_one_query_about_one_declaration(world: World, tmp_path: Path) -> None:
    place, subject = ThirdPlace(tmp_path / "third"), Subject.of(world.view, {"rides": "one"})
    with place.held_for(subject), pytest.raises(AnotherRun, match="one at a time"), place.held_for(subject):
        pass
    with (
        pytest.raises(Invalid, match="its topics are others"),
        place.held_for(Subject.of(world.view, {"rides": "two"})),
    ):
        pass
    with pytest.raises(Invalid, match="declared otherwise"), place.held_for(Subject.of(VIEWS[1], {})):
        pass


def place(one: dict[str, Any]) -> tuple[str, int, int]:
    return one["topic"], one["partition"], one["offset"]

"""A history whose files somebody has changed accuses no row: what differs is compared with what was read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.files.verdicts import Verdict
from app.base.kafka.cluster import Cluster
from app.base.settings import Settings
from app.domain.oracle.view_fold import fold
from app.domain.records import Place, TopicPartition
from app.rides.views import VIEWS
from tests.support.machine.world import delete_records
from tests.support.material.stored.folded import fold_tasks
from tests.support.material.stored.world import PARTITIONS, World, new_world
from tests.support.material.stored.written import write_random_rides
from tests.support.reconciled import SEED, check

COUNT = 20


@pytest.fixture
def world(services: Settings, spark: SparkSession, tmp_path: Path) -> Iterator[World]:
    """One run over it has kept a history, and found all right."""
    with new_world(services, topics=1, views=VIEWS[:1]) as made:
        settings = made.settings.model_copy(update={"history_dir": tmp_path / "history"})
        kept = replace(made, settings=settings)
        write_random_rides(kept, SEED, COUNT)
        fold_tasks(kept)
        assert check(kept, spark, tmp_path / "before").report.verdict is Verdict.MATCH
        yield kept


def test_silver_that_was_changed_is_told_by_topics_and_by_bronze_and_no_row_is_accused(
    world: World, spark: SparkSession, tmp_path: Path
) -> None:
    silver, *_ = (tmp_path / "history" / world.settings.app_id / "silver").iterdir()
    applied = fold(world.view, world.records, world.advances).applied[0]
    number = world.source.topic(applied.topic).number
    place = f"topic_number = {number} and partition = {applied.partition} and offset = {applied.offset}"
    spark.sql(f"update delta.`{silver}` set fare_cents = fare_cents + 1000 where {place}")
    found = check(world, spark, tmp_path / "changed")
    assert found.report.verdict is Verdict.INVALID
    assert (
        f"it holds a record otherwise than it was read: {Place(applied.topic, applied.partition, applied.offset)}"
        in str(found.report.reason)
    )
    assert "move its silver and gold away" in str(found.report.reason)

    places = [TopicPartition(applied.topic, partition) for partition in range(PARTITIONS)]
    delete_records(world.settings, Cluster(world.settings.kafka).log_ends(places, committed=True))
    spark.sql(f"delete from delta.`{silver}` where {place}")
    assert check(world, spark, tmp_path / "lacking").report.verdict is Verdict.INVALID

    shutil.rmtree(silver)
    assert check(world, spark, tmp_path / "anew").report.verdict is Verdict.MATCH

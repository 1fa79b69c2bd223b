"""Spark begins with the classes that were kept, and how they are come by."""

from __future__ import annotations

from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from app.base.settings import Settings
from spark_batch.class_archive import class_archive
from spark_batch.layers.committed import CommittedTable
from spark_batch.rehearsal import RIDES_EACH, rehearse


def test_spark_begins_with_its_archive(spark: SparkSession) -> None:
    kept = class_archive(Settings.load()).path
    assert kept.exists(), "make jars makes it"
    assert SparkContext._gateway is not None
    assert str(kept) in Path(f"/proc/{SparkContext._gateway.proc.pid}/maps").read_text()


def test_the_rehearsal_goes_all_the_way_to_what_a_history_keeps(spark: SparkSession, tmp_path: Path) -> None:
    rehearse(spark, tmp_path)
    assert CommittedTable(spark, tmp_path / "kept").rows().where("reason is null").count() == RIDES_EACH

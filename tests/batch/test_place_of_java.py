"""Where Java is started: nowhere that is a user's, and nowhere that may not be written to."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession


def test_java_works_in_the_scratch_folder(spark: SparkSession) -> None:
    """Spark's sessions make `artifacts` in the folder that Java works in (4.0)."""
    scratch = Path(spark.conf.get("spark.local.dir")).parent
    java = spark.sparkContext._gateway.proc.pid
    assert Path(f"/proc/{java}/cwd").readlink() == scratch
    spark.range(1).count()
    assert (scratch / "artifacts").is_dir()

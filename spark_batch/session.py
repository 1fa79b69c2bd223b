"""The one Spark session of a run: local, loopback only, exact arithmetic, UTC."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

ARROW_BATCH_ROWS = 20_000
"""Larger batches are no faster, smaller ones cost Python calls."""
SHUFFLE_PARTITIONS_PER_CORE = 2


@contextmanager
def spark_session(
    jars: Sequence[Path],
    work_dir: Path,
    *,
    java_home: Path | None = None,
    cores: int | None = None,
    memory: str = "2g",
) -> Iterator[SparkSession]:
    """A session with `jars` on its class path, scratch files below `work_dir`; stopped at the end.

    `cores` None takes all there are. ANSI is on: an overflow raises instead of wrapping, a bad cast is an error.
    """
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if java_home is not None:
        os.environ["JAVA_HOME"] = str(java_home)
    used = cores or os.cpu_count() or 1
    builder = SparkSession.builder.master(f"local[{used}]").appName("flagfall reconcile")
    for name, value in _options(jars, work_dir, used, memory).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _options(jars: Sequence[Path], work_dir: Path, cores: int, memory: str) -> dict[str, str]:
    return {
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.local.dir": str(work_dir / "spark"),
        "spark.sql.warehouse.dir": str(work_dir / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores * SHUFFLE_PARTITIONS_PER_CORE),
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_BATCH_ROWS),
    }

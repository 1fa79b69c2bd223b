"""One Spark session for a whole test run: starting one costs ten seconds."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings
from spark_batch.class_archive import class_archive
from spark_batch.session import spark_session

_held = contextlib.ExitStack()
_sessions: list[SparkSession] = []


@contextlib.contextmanager
def lent(spark: SparkSession) -> Iterator[SparkSession]:
    """A session for one run, which leaves nothing of it behind; it goes on."""
    try:
        yield spark
    finally:
        spark.catalog.clearCache()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session, shared by all folders that import this fixture; it ends with the process.

    What Spark works with goes with it. Its log stays, where the gate looks for logs.
    """
    if not _sessions:
        scratch = Path(_held.enter_context(tempfile.TemporaryDirectory(prefix="flagfall-spark-")))
        log = tmp_path_factory.mktemp("spark") / "spark.log"
        settings, home = Settings.load(), find_java().home
        jars, classes = fetch("spark", settings.cache_dir), " ".join(class_archive(settings).options())
        begun = spark_session(jars, scratch, log, java_home=home, cores=2, java_options=classes)
        _sessions.append(_held.enter_context(begun))
    return _sessions[0]

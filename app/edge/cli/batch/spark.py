"""Spark, as commands start it, and what they show meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.base.log_lines import logs_json
from app.edge.cli.common import tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from app.base.settings import Settings


@contextlib.contextmanager
def spark_of(settings: Settings, scratch: Path, progress: Any) -> Iterator[SparkSession]:
    """A session for the block, as the settings say; `progress`: what `steps_shown` gives."""
    from app.base.services.jars import fetch
    from app.base.services.java import find_java
    from spark_batch.class_archive import class_archive
    from spark_batch.session import spark_log, spark_session

    with contextlib.ExitStack() as session:
        with progress("starting Spark"):
            jars, log = fetch("spark", settings.cache_dir), spark_log(settings)
            home, memory_mb, master = find_java().home, settings.spark.memory_mb, settings.spark.master
            classes = " ".join(class_archive(settings).options()) if master is None else ""
            begun = spark_session(
                jars, scratch, log, java_home=home, memory_mb=memory_mb, master=master, java_options=classes
            )
            spark = session.enter_context(begun)
        yield spark


@contextlib.contextmanager
def steps_shown(quiet: bool) -> Iterator[Any]:
    """A line per step on stderr, with the seconds it took."""
    if logs_json():
        yield _step_logged
        return
    from time import perf_counter

    from rich.text import Text

    from app.base.terminal import Terminal

    console = Terminal(stderr=True, quiet=quiet)

    @contextlib.contextmanager
    def step(words: str) -> Iterator[None]:
        begun = perf_counter()
        with console.status(Text(words + " …")):
            yield
        console.print(Text.assemble(("✓", "green"), f" {words} ", (f"{perf_counter() - begun:.1f} s", "dim")))

    yield step


@contextlib.contextmanager
def _step_logged(words: str) -> Iterator[None]:
    """A line of JSON when it has ended, which tells when; for programs, so quiet or not."""
    yield
    tell(words)


def third_root(settings: Settings) -> Path:
    """Where third opinions are kept."""
    return settings.data_dir / "third"

"""`make agreement SEEDS=n`: worker, Spark and naive fold on so many random histories (`compared.py`)."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from pyspark.sql import SparkSession

from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings
from spark_batch.session import spark_session
from tests.agreement.compared import VIEWS, History, check_spark, check_worker, history_of

TOGETHER = 50
"""Histories that Spark takes at once."""
QUICK_START = "-XX:TieredStopAtLevel=1"
"""Java compiles once and lightly: half the processor time of a short run, which is mostly warming up."""


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=100, show_default=True, help="How many histories.")
@click.option("--seed", type=int, help="The first one's. Default: by the clock.")
@click.option("--report", type=click.Path(path_type=Path), default=Path("build/agreement.json"), show_default=True)
def main(seeds: int, seed: int | None, report: Path) -> None:
    """Compare worker, Spark and naive fold on random histories; exit 1 if one differs.

    \b
    make agreement SEEDS=200
    make agreement SEEDS=1 SEED=1234     one history again
    """
    began, first = time.monotonic(), int(time.time()) if seed is None else seed
    done: list[History] = []
    with _session() as (spark, scratch):
        for begin in range(first, first + seeds, TOGETHER):
            part = range(begin, min(begin + TOGETHER, first + seeds))
            histories = [history_of(one, number) for number, one in enumerate(part)]
            for history in histories:
                check_worker(history)
            check_spark(spark, histories, scratch / str(begin))
            done += histories
            equal = sum(not history.differences for history in done)
            click.echo(f"{len(done)} of {seeds} histories, {equal} equal", err=True)
    differing = [{"seed": h.seed, "differences": h.differences} for h in done if h.differences]
    facts = {
        "histories": len(done),
        "equal": len(done) - len(differing),
        "first_seed": first,
        "rows": sum(history.figures for history in done),
        "views": [view.name for view in VIEWS],
        "seconds": round(time.monotonic() - began, 1),
        "differing": differing,
    }
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(facts, indent=2) + "\n")
    for one in differing:
        click.echo(f"seed {one['seed']} (make agreement SEEDS=1 SEED={one['seed']}): {one['differences']}")
    click.echo(f"{facts['equal']} of {len(done)} histories equal, {facts['rows']} rows; {report}")
    sys.exit(int(bool(differing)))


@contextmanager
def _session() -> Iterator[tuple[SparkSession, Path]]:
    with tempfile.TemporaryDirectory(prefix="flagfall-agreement-") as folder:
        scratch, jars = Path(folder), fetch("spark", Settings.load().cache_dir)
        home = find_java().home
        log = scratch / "spark.log"
        with spark_session(jars, scratch, log, java_home=home, cores=2, java_options=QUICK_START) as spark:
            yield spark, scratch


if __name__ == "__main__":
    main()

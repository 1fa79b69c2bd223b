"""This project's worker beside Kafka Streams, Flink, Faust, Quix Streams, Spark and bare readers, on one core each.

\b
make bench-stream
python -m benchmarks.stream --data-sets sparse --systems worker,kafka_streams_memory --runs 1

Runs that were done are kept and not repeated, unless the program, the data set or its size changed.
Nothing is left running; the topics stay in build/bench-stream until `make clean`.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import click
import polars as pl

from app.domain.errors import FlagfallError
from app.edge.local.lifetime import unwind_on_term
from benchmarks.stream.data_sets import DATA_SETS, DataSet, ends
from benchmarks.stream.figures import Result, Results, report, table
from benchmarks.stream.measure import Timing, measure
from benchmarks.stream.place import RUNS, Cores, Place, delete_topics_of_runs, opened
from benchmarks.stream.recount import RowsDiffer, recount, require_equal
from benchmarks.stream.system import BUILT, ROOT, Run, System
from benchmarks.stream.systems import SYSTEMS
from benchmarks.stream.views import BENCHED

TELL_SECONDS = 5.0


class NamesOf(click.ParamType):
    """Comma-separated names out of a list."""

    name = "names"

    def __init__(self, known: dict[str, Any]) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = list(self._known) if value == "all" else str(value).split(",")
        if unknown := [name for name in names if name not in self._known]:
            self.fail(f"{', '.join(unknown)}: there are {', '.join(self._known)}", param, ctx)
        return names


@click.command(help=__doc__)
@click.option("--systems", type=NamesOf(SYSTEMS), default="all", metavar="NAME,…", help="Which; all by default.")
@click.option("--data-sets", type=NamesOf(DATA_SETS), default="all", metavar="NAME,…", help="sparse, dense.")
@click.option("--rides", default=2_000_000, show_default=True, type=click.IntRange(min=1), help="In each data set.")
@click.option("--runs", default=3, show_default=True, type=click.IntRange(min=1), help="Of each system.")
@click.option("--fresh", is_flag=True, help="Forget these systems' former runs.")
@click.option("--report", "path", default=ROOT / "build" / "bench-stream.json", type=click.Path(path_type=Path))
@click.option("--data-dir", default=BUILT, type=click.Path(path_type=Path), help="Topics, and the runs done.")
def main(
    systems: list[str], data_sets: list[str], rides: int, runs: int, fresh: bool, path: Path, data_dir: Path
) -> None:
    unwind_on_term()
    results = Results(data_dir / "runs.jsonl")
    if fresh:
        results.forget(data_sets, systems)
    try:
        for name in data_sets:
            bench(data_dir / name, DATA_SETS[name], rides, [SYSTEMS[system] for system in systems], runs, results)
            write_report(path, DATA_SETS[name], rides, results)
    except (FlagfallError, RowsDiffer) as error:
        raise click.ClickException(str(error)) from error


def bench(folder: Path, data_set: DataSet, rides: int, systems: list[System], runs: int, results: Results) -> None:
    """Let every system have its runs, one run of each after the other, so that a slow minute hits them all."""
    todo = [
        (system, number)
        for number in range(1, runs + 1)
        for system in systems
        if len(results.of(data_set.name, rides, system.name, system.version())) < number
    ]
    if not todo:
        return say(f"{data_set.name}: every run is there already")
    with opened(folder, data_set, rides, Cores.of_this_machine(), patient()) as place:
        placed = data_set.placed(rides)
        for system, number in todo:
            what = f"{data_set.name}, {system.name}, run {number} of {runs}"
            result = one_run(system, number, place, placed, what)
            results.add(result)
            say(f"{what}: {result.rides_per_second:,.0f} rides/s, {result.cpu_seconds_per_million:.2f} CPU-s/million")


def one_run(system: System, number: int, place: Place, placed: pl.DataFrame, what: str) -> Result:
    """Run it, and compare its rows. Raises RunFailed, RowsDiffer."""
    version = system.version()
    read = placed if system.rides is None else placed.head(system.rides)
    with run_folder(place, system) as folder:
        run = Run(place, folder.name, folder, ends(read))
        tell = patient()
        timing = measure(system, run, lambda text: tell(f"{what}: {text}"))
        rows, written = 0, 0
        if system.views:
            kept = system.rows(run)
            written = kept.changelog_records
            for view in system.views:
                expected = recount(view, read)
                try:
                    require_equal(kept.rows[view.name], expected)
                except RowsDiffer as error:
                    raise RowsDiffer(f"{what}, {view.name}: {error}") from None
                rows += expected.height
        delete_topics_of_runs(place.settings)
    return result_of(timing, system, version, number, place, run.rides, rows, written)


def result_of(
    timing: Timing, system: System, version: str, number: int, place: Place, rides: int, rows: int, written: int
) -> Result:
    return Result(
        data_set=place.data_set.name,
        data_set_rides=place.rides,
        system=system.name,
        version=version,
        commit=commit(),
        run=number,
        at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        rides=rides,
        rows=rows,
        changelog_records=written,
        seconds=timing.seconds,
        cpu_seconds=timing.cpu_seconds,
        seconds_from_start=timing.seconds_from_start,
        cpu_seconds_from_start=timing.cpu_seconds_from_start,
    )


def write_report(path: Path, data_set: DataSet, rides: int, results: Results) -> None:
    """Put the data set's part into the report, beside the other's, and print it."""
    found = {name: results.of(data_set.name, rides, name, system.version()) for name, system in SYSTEMS.items()}
    rows_per_ride = recount(BENCHED, data_set.placed(rides)).height / rides
    told = report(found, rows_per_ride)
    document = json.loads(path.read_text()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**document, data_set.name: {"rides": rides, **told}}, indent=2) + "\n")
    click.echo("\n".join([f"\n{data_set.name}: {rides:,} rides", *table(told)]))


@contextmanager
def run_folder(place: Place, system: System) -> Iterator[Path]:
    """An empty folder with a name that no run had, for a run's files; removed after a good run."""
    stamp = f"{time.time_ns() // 1_000_000:x}"
    folder = place.settings.data_dir / RUNS / f"{system.name.replace('_', '-')}-{stamp}"
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


@cache
def commit() -> str:
    """The checkout's commit, with a plus if files differ from it; "unknown" outside of one."""
    try:
        told = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return told.stdout.strip()


def patient() -> Callable[[str], None]:
    """Says what it is told, now and then."""
    last = time.monotonic()

    def tell(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= TELL_SECONDS:
            last = time.monotonic()
            say(text)

    return tell


def say(text: str) -> None:
    click.echo(text, err=True)


if __name__ == "__main__":
    sys.exit(main(prog_name="python -m benchmarks.stream"))

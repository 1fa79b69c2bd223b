"""`flagfall demo`: the whole flow, once, leaving nothing running."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.edge.cli.common import Command

if TYPE_CHECKING:
    from app.edge.cli.demo.run import Rides

SEED = 7


def _data_dir_option(command: Command) -> Command:
    return click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        default="build/demo",
        show_default=True,
        help="Emptied first, so new, empty or an earlier demo's; logs and the report stay in it.",
    )(command)


@click.command()
@click.option("--rides", default=200_000, show_default=True, type=click.IntRange(min=1), help="Generated rides.")
@click.option(
    "--replay",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE|DIR",
    help="TLC trip files instead of generated rides.",
)
@_data_dir_option
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures here, as JSON.")
def command(rides: int, replay: Path | None, data_dir: Path, report: Path | None) -> int:
    """Run the whole flow once: services, topics, rides, two workers, queries, reconciliation, verdict.

    Everything is local, on ports that nobody uses, and is stopped at the end, however it ends.

    \b
    flagfall demo
    flagfall demo --rides 1000000 --report build/bench.json
    flagfall demo --replay yellow_tripdata_2019-01.parquet
    """
    import json

    from app.base.files.own_directory import NotOurDirectory, claim
    from app.base.terminal import Terminal
    from app.edge.cli.demo.place import MARK
    from app.edge.cli.demo.run import run_demo
    from app.edge.local.lifetime import die_with_parent, unwind_on_term

    try:
        claim(data_dir, MARK)
    except NotOurDirectory as error:
        raise click.BadParameter(str(error), param_hint="--data-dir") from error
    unwind_on_term()
    die_with_parent()
    console = Terminal()
    code, facts = run_demo(console, data_dir, partial(_rides, rides, replay))
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(json.dumps(facts, indent=2))
    return code


@contextlib.contextmanager
def _rides(count: int, replay: Path | None, data_dir: Path) -> Iterator[Rides]:
    """What to write; rides of files wait below the demo's directory meanwhile."""
    from app.edge.cli.demo.run import Rides

    if replay is None:
        from app.edge.cli.records.generate import generated
        from app.rides.generator.generator import Generator

        yield Rides(generated(Generator(SEED), 0, count), count, f"generated rides (seed {SEED})")
        return
    from app.edge.cli.records.replay import read_files, replayed, trip_files, waiting_rides

    with waiting_rides(data_dir) as folder:
        files = read_files(trip_files([replay]), folder)
        expected = sum(file.ride_count for file in files)
        yield Rides(replayed(files, folder, "reported"), expected, f"rides of {len(files)} TLC files")

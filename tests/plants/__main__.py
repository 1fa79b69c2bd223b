"""`make plants N=n`: so many faults planted into what is stored, and as many clean runs (`planting.py`)."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from app.edge.cli.records.sending import progress
from tests.plants.planting import plant


@click.command()
@click.option("--count", type=click.IntRange(1), default=1000, show_default=True, help="How many, and clean runs.")
@click.option("--seed", type=int, help="Default: by the clock.")
@click.option("--report", type=click.Path(path_type=Path), default=Path("build/plants.json"), show_default=True)
def main(count: int, seed: int | None, report: Path) -> None:
    """Plant faults into the tables of random histories; exit 1 if one is not named, or anything else is.

    \b
    make plants N=2000
    make plants N=300 SEED=1234     again
    """
    began, first = time.monotonic(), int(time.time()) if seed is None else seed
    with progress("plants", count) as tell:
        tried = plant(first, count, tell)
    facts = {
        "planted": tried.planted.total(),
        "named": tried.named.total(),
        "false": tried.false,
        "clean_runs": tried.clean_runs,
        "alarms": tried.alarms,
        "seed": first,
        "faults": {name: {"planted": n, "named": tried.named[name]} for name, n in sorted(tried.planted.items())},
        "clean_rows": tried.rows,
        "seconds": round(time.monotonic() - began, 1),
        "wrong": tried.wrong,
    }
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(facts, indent=2) + "\n")
    for words in tried.wrong:
        click.echo(words)
    click.echo(
        f"{facts['named']:,} of {facts['planted']:,} plants named, {tried.false} names that none was planted for, "
        f"{tried.alarms} alarms in {tried.clean_runs:,} clean runs, seed {first}; {report}"
    )
    sys.exit(int(not tried.is_right))


if __name__ == "__main__":
    main()

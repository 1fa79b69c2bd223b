"""Run a drill on brokers and workers of its own, once for each seed, and compare everything with a plain fold.

\b
python -m tests.drills list
python -m tests.drills kill --seeds 20 --short
python -m tests.drills kill --seed 1032120753

Every result is kept at once: a series that was stopped goes on with the same command, while the commit is the same.
"""

from __future__ import annotations

import sys

import click

from app.edge.demo.lifetime import unwind_on_term
from tests.drills.catalogue import DRILLS
from tests.drills.series import RESULTS, SUMMARY, run_series


@click.command(help=__doc__)
@click.argument("drill", type=click.Choice([*DRILLS, "list"]))
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(min=1), help="How many runs.")
@click.option("--seed", type=click.IntRange(min=0), help="One run with this seed.")
@click.option("--short", is_flag=True, help="The form that `make test` runs.")
def main(drill: str, seeds: int, seed: int | None, short: bool) -> None:
    if drill == "list":
        for known in DRILLS.values():
            click.echo(f"{known.name:20} {known.help}")
        return
    if seed is not None and seeds > 1:
        raise click.UsageError(f"--seed {seed} is one run; leave --seeds {seeds} (SEEDS) out")
    unwind_on_term()  # else its workers would stay
    try:
        summary = run_series(DRILLS[drill], seeds, seed, short=short)
    except (KeyboardInterrupt, SystemExit):
        click.echo("\nstopped; the same command goes on behind the last run that is done", err=True)
        raise
    click.echo(f"{drill}: {summary['exact']} of {summary['runs']} exact; {SUMMARY}, {RESULTS}")
    sys.exit(0 if summary["exact"] == summary["runs"] else 1)


main()

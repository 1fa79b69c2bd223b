"""Run a drill on brokers and workers of its own, once for each seed, and compare everything with a plain fold.

\b
python -m tests.drills list
python -m tests.drills kill --seeds 20 --short
python -m tests.drills kill --seed 1032120753
python -m tests.drills all --short
python -m tests.drills last

Every result is kept at once: a series that was stopped goes on with the same command, while the commit is the same.
`last` shows the last series of each drill as a table.
"""

from __future__ import annotations

import sys

import click

from app.edge.local.lifetime import unwind_on_term
from tests.drills.catalogue import DRILLS, IN_THE_GATE
from tests.drills.results import RESULTS, all_runs, table_of_last
from tests.drills.series import SUMMARY, run_series

ALL, LIST, LAST = "all", "list", "last"
SHORT = f"The short form: 10 to 40 s a run. Of it `make test` runs {' and '.join(IN_THE_GATE)} alone, with a seed each."


@click.command(help=__doc__)
@click.argument("drill", type=click.Choice([*DRILLS, ALL, LIST, LAST]))
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(min=1), help="How many runs.")
@click.option("--seed", type=click.IntRange(min=0), help="One run with this seed.")
@click.option("--short", is_flag=True, help=SHORT)
def main(drill: str, seeds: int, seed: int | None, short: bool) -> None:
    if drill == LIST:
        for known in DRILLS.values():
            click.echo(f"{known.name:20} {known.help}")
        return
    if drill == LAST:
        click.echo(table_of_last(all_runs(), DRILLS))
        return
    if seed is not None and seeds > 1:
        raise click.UsageError(f"--seed {seed} is one run; leave --seeds {seeds} (SEEDS) out")
    unwind_on_term()  # else its workers would stay
    chosen = DRILLS if drill == ALL else [drill]
    try:
        summaries = [run_series(DRILLS[name], seeds, seed, short=short) for name in chosen]
    except (KeyboardInterrupt, SystemExit):
        click.echo("\nstopped; the same command goes on behind the last run that is done", err=True)
        raise
    for told in summaries:
        click.echo(f"{told['drill']}: {told['exact']} of {told['runs']} exact; {SUMMARY}, {RESULTS}")
    sys.exit(0 if all(told["exact"] == told["runs"] for told in summaries) else 1)


main()

"""Simulated histories from the shell: `python -m app.testkit.simulate --seeds 1000`, and one again: `--seed 7`."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from app.testkit.simulation.script import Script
    from app.testkit.simulation.shrink import KeptSteps

SHOWN_FAILURES = 3
"""Failing histories that are shrunk and shown; of the others only the seeds are told."""


@click.command(help=__doc__)
@click.option("--seed", "first_seed", type=int, default=0, show_default=True, help="the first seed")
@click.option("--seeds", "count", type=click.IntRange(1), default=1, show_default=True, help="how many, from it on")
@click.option("--only", default="", help="the steps to play of one seed, as a failure names them: 0,4-6,9:0+2")
@click.option("--report", type=click.Path(path_type=Path), help="where to write the figures as JSON")
def main(first_seed: int, count: int, only: str, report: Path | None) -> None:
    # Before Polars is loaded: tiny batches gain nothing from threads, and damaged records need no traces of its panics.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    os.environ["RUST_BACKTRACE"] = "0"
    from app.testkit.simulation.shrink import SelectionError

    try:
        failed, tally, seconds = _play_all(first_seed, count, only)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="--only") from None
    figures = {
        "histories": count,
        "first_seed": first_seed,
        "failed_seeds": failed,
        "seconds": round(seconds, 1),
        "histories_per_minute": round(count / seconds * 60),
        "tally": dict(sorted(tally.items())),
    }
    if report is not None:
        report.parent.mkdir(parents=True, exist_ok=True)
        report.write_text(json.dumps(figures, indent=2) + "\n")
    click.echo(
        f"{count} histories from seed {first_seed}, {len(failed)} failed; {seconds:.1f} s, "
        f"{figures['histories_per_minute']} a minute"
    )
    click.echo(", ".join(f"{count} {what}" for what, count in sorted(tally.items())))
    raise SystemExit(1 if failed else 0)


def _play_all(first_seed: int, count: int, only: str) -> tuple[list[int], Counter[str], float]:
    from app.testkit.history import run_script
    from app.testkit.simulation.script import draw_script
    from app.testkit.simulation.shrink import read_selection, selected

    failed: list[int] = []
    tally: Counter[str] = Counter()
    began = time.perf_counter()
    for seed in range(first_seed, first_seed + count):
        script = draw_script(seed)
        selection = read_selection(only)
        ended = run_script(selected(script, selection) if selection else script)
        tally += ended.tally
        if ended.problems:
            failed.append(seed)
            if len(failed) <= SHOWN_FAILURES:
                click.echo(failure_text(script, selection))
    return failed, tally, time.perf_counter() - began


def failure_text(script: Script, selection: KeptSteps = ()) -> str:
    """A failing history as a user needs it: few steps, what is wrong, and the command that shows it again."""
    from app.testkit.history import run_script
    from app.testkit.simulation.shrink import selected, selection_text, shrink
    from app.testkit.simulation.steps import describe

    small = selection or shrink(script, lambda shorter: bool(run_script(shorter).problems))
    ended = run_script(selected(script, small))
    steps = [
        f"  {kept.number}: {describe(step)}" for kept, step in zip(small, selected(script, small).steps, strict=True)
    ]
    return "\n".join(
        [
            f"seed {script.seed}: {script.partitions} partitions, logs begin at {_starts(script)}, "
            f"views {', '.join(view.name for view in script.views)}, {_pairing(script)}; "
            f"{len(small)} of {len(script.steps)} steps:",
            *steps,
            *(f"wrong: {problem}" for problem in ended.problems),
            f"again: python -m app.testkit.simulate --seed {script.seed} --only {selection_text(small)}",
        ]
    )


def _pairing(script: Script) -> str:
    told = [f"{join.kind} join {join.name}" for join in script.joins] + [f"alert {a.name}" for a in script.alerts]
    return ", ".join(told) or "no joins"


def _starts(script: Script) -> str:
    starts = [f"{place} {start}" for place, start in script.starts.items() if start]
    return ", ".join(starts) or "0"


if __name__ == "__main__":
    main()

"""Where the time of a worker goes that catches up with a backlog: a flame graph, and its shares by part.

    python -m benchmarks.flame --report build/flame.json --drawing docs/flame-catching-up.svg
    python -m benchmarks.flame --rides 1000000 --drawing build/flame.svg

A backlog as dense as New York's rides is written; then one worker alone on the last core, as in `benchmarks.bounds`,
catches up with it, and py-spy looks at the stacks of all its threads 250 times a second, from the other core. A thread
counts while it works or could: what it was seen at shares the processor time that the kernel tells of that thread.
Compiled loops and libraries work for the Python function that has called them. Which part of the worker a stack belongs
to says a table of module names (`parts`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from app.edge.local.lifetime import unwind_on_term
from benchmarks.bounds import CITY_A_DAY, TASKS, Case, await_rides, fill, speed
from benchmarks.flame.drawing import flame_graph
from benchmarks.flame.parts import heaviest, seconds_by_part, shares
from benchmarks.flame.sampling import Watch, watched
from benchmarks.flame.stacks import Stack, weighed
from benchmarks.one_worker import place, worker

FOLDER = Path("build/flame")
NAMED = 5
"""Calls of each part that the report names."""


def main(rides: int, report: Path, drawing: Path) -> None:
    """Measure, draw, print the figures and write them to `report`."""
    unwind_on_term()
    watch, told = caught_up(Case(rides, CITY_A_DAY))
    stacks = weighed(watch.samples, watch.threads)
    told |= {"samples": sum(sample.times for sample in watch.samples), "parts": by_part(stacks)}
    for path in (report, drawing):
        path.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(told, indent=2))
    title = f"One worker catching up with {rides:,} rides: {told['cpu_seconds']:.1f} s of the processor"
    drawing.write_text(flame_graph(stacks, title))
    print(json.dumps(told))


def caught_up(case: Case) -> tuple[Watch, dict[str, Any]]:
    """What was seen of a worker from when it was ready to its last commit, and how fast it was meanwhile."""
    with place(FOLDER, TASKS) as here:
        settings, *_ = here
        fill(settings, case)
        with worker(*here) as (_, process):
            with watched(process.pid) as watch:
                await_rides(settings, case.rides)
            told = speed(settings)
    return watch, told | {"cpu_seconds": round(sum(one.cpu_seconds for one in watch.threads.values()), 2)}


def by_part(stacks: dict[Stack, float]) -> dict[str, Any]:
    """Of each part its share, its seconds, and what in it has used most."""
    percents = shares(stacks)
    return {
        part: {
            "percent": round(percents[part], 1),
            "cpu_seconds": round(seconds, 2),
            "most": {call: round(used, 2) for call, used in heaviest(stacks, part, NAMED).items()},
        }
        for part, seconds in seconds_by_part(stacks).items()
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=3_000_000)
    parser.add_argument("--report", type=Path, default=FOLDER.with_suffix(".json"))
    parser.add_argument("--drawing", type=Path, default=Path("docs/flame-catching-up.svg"))
    arguments = parser.parse_args()
    main(arguments.rides, arguments.report, arguments.drawing)

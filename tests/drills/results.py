"""What runs have told, a line each, and the last of every drill as a table for the docs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path("build") / "drills.jsonl"
HEAD = ("| drill | exact | seconds each | commit | seeds |", "|---|---|---|---|---|")

Run = dict[str, Any]


def append(run: Run) -> None:
    """Keep a run's result, at once."""
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a") as file:
        file.write(json.dumps(run) + "\n")


def all_runs() -> list[Run]:
    """Every run that was ever kept, the oldest first."""
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def table_of_last(runs: Iterable[Run], drills: Iterable[str]) -> str:
    """The last series of each drill and form; a drill that was never run says so."""
    return "\n".join((*HEAD, *_lines(list(runs), drills)))


def _lines(runs: Sequence[Run], drills: Iterable[str]) -> Iterator[str]:
    for drill in drills:
        found = False
        for short in (True, False):
            of_form = [run for run in runs if (run["drill"], run["short"]) == (drill, short)]
            series = [run for run in of_form if run["series"] == of_form[-1]["series"]]
            if series:
                found = True
                yield _line(f"`{drill}`" + (" short" if short else ""), series)
        if not found:
            yield f"| `{drill}` | not run | | | |"


def _line(name: str, series: Sequence[Run]) -> str:
    exact = sum(run["verdict"] == "exact" for run in series)
    seconds = sum(run["seconds"] for run in series) / len(series)
    seeds = ", ".join(str(run["seed"]) for run in series)
    return f"| {name} | {exact} of {len(series)} | {seconds:.0f} | {series[-1]['commit']} | {seeds} |"

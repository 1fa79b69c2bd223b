"""A series of runs: each result goes to a file of JSON lines at once, so a series that was stopped goes on."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

from tests.drills.drill import Drill
from tests.drills.results import RESULTS, all_runs, append
from tests.drills.run import run_drill
from tests.support.clusters.brokers import running_brokers

BUILD = RESULTS.parent
SUMMARY = BUILD / "drill.json"
CODE = ("app", "agents", "tables")


def run_series(drill: Drill, count: int, seed: int | None, *, short: bool) -> dict[str, Any]:
    """Run a drill with so many seeds, or again with one; the summary, which is also in build/drill.json."""
    size = drill.size(short=short)
    commit = commit_now()
    series, done = (seed, []) if seed is not None else _unfinished(drill.name, commit, count, short)
    seeds = [seed] if seed is not None else _seeds(series, count)
    if done:
        print(f"{drill.name}: {len(done)} of {len(seeds)} were done before, in {RESULTS}", flush=True)
    folder = (BUILD / "drills").resolve() / f"{drill.name}-{series}"
    with running_brokers(folder / "services", drill.nodes) as brokers:
        for number in range(len(done), len(seeds)):
            logs = folder.relative_to(Path.cwd()) / str(seeds[number])
            print(
                f"{drill.name} {number + 1}/{len(seeds)}: seed {seeds[number]}, logs in {logs}", end=" … ", flush=True
            )
            facts = run_drill(drill, brokers, seeds[number], size, folder / str(seeds[number]))
            facts |= {"series": series, "of": len(seeds), "number": number, "commit": commit, "short": short}
            append(facts)
            done.append(facts)
            summary = _summarize(drill, done, commit)
            print(f"{facts['verdict']} in {facts['seconds']} s", *facts["differences"], sep="\n    ", flush=True)
    return summary


def commit_now() -> str:
    """The checkout's commit; with `+` behind it where the code is not what was committed."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    return commit + ("+" if _git("status", "--porcelain", "--", *CODE) else "")


def _unfinished(name: str, commit: str, count: int, short: bool) -> tuple[int, list[dict[str, Any]]]:
    """The last series of this drill at this commit, and its results, if some are missing; else a new one."""
    same = [r for r in all_runs() if (r["drill"], r["commit"], r["of"], r["short"]) == (name, commit, count, short)]
    done = [r for r in same if r["series"] == same[-1]["series"]]
    if done and len(done) < count:
        return done[0]["series"], done
    return random.SystemRandom().getrandbits(32), []


def _seeds(series: int, count: int) -> list[int]:
    rng = random.Random(series)
    return [rng.getrandbits(32) for _ in range(count)]


def _summarize(drill: Drill, done: list[dict[str, Any]], commit: str) -> dict[str, Any]:
    summary = {
        "drill": drill.name,
        "runs": len(done),
        "exact": sum(r["verdict"] == "exact" for r in done),
        "commit": commit,
        "series": done[0]["series"],
        "seeds": [r["seed"] for r in done],
        "seconds": round(sum(r["seconds"] for r in done), 1),
        "rides": sum(r.get("rides", 0) for r in done),
        "faults": sum(len(r["faults"]) for r in done),
        "not_exact": [{k: r[k] for k in ("seed", "verdict", "differences")} for r in done if r["verdict"] != "exact"],
    }
    SUMMARY.write_text(json.dumps(summary, indent=2) + "\n")
    return summary


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()

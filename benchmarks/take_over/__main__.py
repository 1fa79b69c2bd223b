"""How soon a worker is ready, and how soon another one answers for it when it is killed. Nothing is left running.

    python -m benchmarks.take_over --report build/take-over.json
    python -m benchmarks.take_over --starts 3 --kills 2 --rides 400000

Two cores: broker, registry and this program on the first, workers on the last. First one worker with four empty tasks
is started and stopped again and again; `seconds` run from the start of its process to the first 200 of `/readyz`. The
first start on a new broker, for which that makes its own topics, is told apart.

Then two workers read rides so few a day that most of them are a row of `zone_demand` of their own, and share the tasks.
When all is read, closed and published, one is killed with KILL, by turns the one and the other; it is started again
when the other has taken over, so that whoever survives has never held what it takes over. `seconds` run from the kill
to the survivor's first answer with 200 to a page over all tasks. The page, and all rows folded by zone with their
counts and fingerprints, must be what they were before, and of the same positions. Of these, `noticed_seconds` is the
group's: the session of the dead worker runs out, and the survivor hears of it with its next heartbeat. All members of a
group beat together, from the last rebalance on; the kills are spread evenly between one heartbeat and the next.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from app.base.settings import Settings
from app.edge.local.lifetime import unwind_on_term
from app.edge.local.workers import stop_workers
from benchmarks.bounds import Case, fill
from benchmarks.one_worker import place
from benchmarks.stream.figures import spread
from benchmarks.stream.place import Cores
from benchmarks.take_over.pair import Pair, taken_over
from benchmarks.take_over.starts import started

FOLDER = Path("build/take-over")
TASKS = 4
RIDES, RIDES_A_DAY = 1_500_000, 30_000
"""A million rows: half a million for each worker."""


def main(starts: int, kills: int, rides: int, report: Path) -> None:
    """Measure both on one cluster, print the figures and write them to `report`."""
    unwind_on_term()
    with place(FOLDER, TASKS) as here:
        figures: dict[str, Any] = {"start": started_often(*here, starts)}
        print(json.dumps(figures), flush=True)
        figures["take_over"] = killed_often(*here, kills, Case(rides, RIDES_A_DAY))
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2))
    print(json.dumps(figures["take_over"]))


def started_often(settings: Settings, cores: Cores, owner_fd: int, times: int) -> dict[str, Any]:
    """Starts after the first one on a new broker."""
    first, *runs = (started(settings, cores, owner_fd) for _ in range(times + 1))
    return {"first_on_a_new_broker": first, **spreads(runs), "runs": runs}


def killed_often(settings: Settings, cores: Cores, owner_fd: int, times: int, case: Case) -> dict[str, Any]:
    """Take-overs, the workers dying by turns, each a little later after a heartbeat than the one before."""
    fill(settings, case)
    pair, runs = Pair(settings, cores, owner_fd), list[dict[str, Any]]()
    try:
        rows = sum(task["rows"] for task in pair.settled())
        for turn in range(times):
            workers = pair.complete()
            time.sleep(settings.worker.heartbeat_interval_seconds * turn / times)
            runs.append(taken_over(survivor=workers[turn % 2], victim=workers[1 - turn % 2]))
            print(json.dumps(runs[-1]), flush=True)
    finally:
        stop_workers(settings)
    told = {
        "session_timeout_seconds": settings.worker.session_timeout_seconds,
        "heartbeat_interval_seconds": settings.worker.heartbeat_interval_seconds,
        "rides": case.rides,
        "rows": rows,
        "tasks": TASKS,
    }
    return told | spreads(runs) | {"runs": runs}


def spreads(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Median, minimum and maximum of every time that the runs tell."""
    return {name: spread((run[name] for run in runs), 2) for name in runs[0] if name.endswith("seconds")}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=7, help="after the first one")
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--rides", type=int, default=RIDES, help="a million and a half make a million rows")
    parser.add_argument("--report", type=Path, default=FOLDER.with_suffix(".json"))
    arguments = parser.parse_args()
    main(arguments.starts, arguments.kills, arguments.rides, arguments.report)

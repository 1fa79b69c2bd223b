"""How fast states come back from their changelogs, and what memory they take. Nothing is left running.

    python -m benchmarks.recovery --cases trickle-1000000-1 --report build/bench-recovery.json

A local broker gets one changelog per case, named by how it is written, its rows and its tasks: *dense*, as catching up
writes it (20,000 rows a transaction), or *trickle*, as a thousand rides a second do (20 new rows, 6 changed ones and
the marker). Each is recovered several times, in a fresh process on one core, as it was written and after compaction:
the rows must be those that were written. The report has the run of the median time. A case that it has already is
left out, unless it is asked for by name.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import uvloop

from app.base.kafka.administrator import admin_client
from app.base.kafka.topic_admin import create_topics
from app.base.services.local import supervised
from app.base.settings import Settings
from app.edge.cli.demo.place import own_place
from app.edge.local.lifetime import unwind_on_term
from app.rides.ride import RIDES
from app.topics import application_topics, source_topics
from benchmarks.compaction import compact, log_bytes
from benchmarks.recovery.changelogs import VIEW, Case, fill, roll
from benchmarks.recovery.recover import recover

CASES = tuple(
    map(
        Case.named,
        (
            "dense-1000000-1",
            "dense-1000000-4",
            "trickle-1000000-1",
            "trickle-1000000-4",
            "dense-10000000-1",
            "dense-10000000-4",
        ),
    )
)
STEPS = {"fill": fill, "recover": recover}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--report", type=Path, default=Path("build/bench-recovery.json"))
    parser.add_argument("--cases", nargs="+", type=Case.named, metavar="CASE", help="only these")
    parser.add_argument("--times", type=int, default=3, help="recoveries of each changelog")
    parser.add_argument("--step", nargs=2, metavar=("STEP", "CASE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step:
        step, case = arguments.step
        print(json.dumps(uvloop.run(STEPS[step](Settings.load(), Case.named(case)))))
        return
    unwind_on_term()
    figures = json.loads(arguments.report.read_text()) if arguments.report.exists() else {}
    cases = arguments.cases or [case for case in CASES if case.name not in figures]
    with own_place(Path("build/bench-recovery")) as settings, supervised(settings):
        os.environ.update(settings.environment())
        create_topics(settings.kafka, source_topics(settings, RIDES))
        for case in cases:
            figures[case.name] = _measured(settings, case, arguments.times)
            arguments.report.parent.mkdir(parents=True, exist_ok=True)
            arguments.report.write_text(json.dumps(figures, indent=2))
    print(arguments.report)


def _measured(settings: Settings, case: Case, times: int) -> dict[str, Any]:
    create_topics(settings.kafka, application_topics(settings.model_copy(update={"app_id": case.name}), RIDES.name))
    told: dict[str, Any] = {"row_cells": len(VIEW.cells), "writing_seconds": _in_child("fill", case)["seconds"]}
    told["as_written"] = _recovered(settings, case, times)
    told["compaction_seconds"] = round(compact(settings, case.topic, lambda: asyncio.run(roll(settings, case))), 1)
    told["compacted"] = _recovered(settings, case, times)
    admin = admin_client(settings.kafka)  # kept while it is asked
    admin.delete_topics([case.topic])[case.topic].result()
    return told


def _recovered(settings: Settings, case: Case, times: int) -> dict[str, Any]:
    runs = sorted((_in_child("recover", case) for _ in range(times)), key=lambda told: float(told["seconds"]))
    spread = {"fastest_seconds": runs[0]["seconds"], "slowest_seconds": runs[-1]["seconds"], "runs": times}
    return runs[(times - 1) // 2] | spread | {"log_megabytes": round(log_bytes(settings, case.topic) / 1e6, 1)}


def _in_child(step: str, case: Case) -> dict[str, Any]:
    """A fresh process each, so that one's memory is not another's."""
    called = [sys.executable, "-m", "benchmarks.recovery", "--step", step, case.name]
    answer = subprocess.run(called, check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    print(case.name, step, json.dumps(told), file=sys.stderr, flush=True)
    return told


if __name__ == "__main__":
    main()

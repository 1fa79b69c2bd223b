"""Latency from produce to committed and readable, and what it costs. Nothing is left running.

    python -m benchmarks.latency --report build/latency.json
    python -m benchmarks.latency --cases 1000 20000 1000x16 --seconds 20
    python -m benchmarks.latency --cases 20000 --sender worker

A case is RATE or RATExTASKS: so many rides of 29 columns a second, over the four ride topics, to one worker with the
views as shipped and so many tasks (four, if not said). Broker and registry run on the first core, the worker on the
last; the sender on the broker's core, which two programs may fill, or with `--sender worker` on the worker's, so that
the broker has its own. A ride's latency runs from its Kafka timestamp (CreateTime, the producer's call) to the moment
in which the worker has committed its transaction and swapped its rows in; the worker writes these moments down
(`worker_app`), and they are joined with the rides of the topics after the run. The settings are the worker's own, or
those of the environment.

`cpu` is what the worker used, in cores, and `others_cpu` what others (the sender, if it is there) used of its core
meanwhile. `brokers_core` is what was used of the broker's: where it is full, what runs there is slow, and the figure an
upper bound. `idle_cpu` is what a worker of four tasks uses that has read all there is, and `ready_seconds` what it
takes from its start until it is ready, without a row.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.edge.local.lifetime import unwind_on_term
from benchmarks.latency.committed import latencies_ms, read_commits
from benchmarks.latency.sending import WARM_SECONDS, sent, start_sender
from benchmarks.one_worker import commits_of, cpu_seconds, longest_hold_ms, place, worker

TASKS = 4
FOLDER = Path("build/bench-latency")
PERCENTILES = {"p50_ms": 50, "p95_ms": 95, "p99_ms": 99, "p999_ms": 99.9, "longest_ms": 100}


@dataclass(frozen=True)
class Case:
    """So many rides a second, to a worker of so many tasks."""

    name: str
    rate: int
    tasks: int

    @classmethod
    def named(cls, name: str) -> Case:
        """Of a name like `1000` or `1000x16`."""
        known = re.fullmatch(r"([1-9]\d*)(?:x([1-9]\d*))?", name, re.ASCII)
        if known is None:
            raise argparse.ArgumentTypeError(
                f"{name!r}: RATE or RATExTASKS is wanted, whole numbers from 1 on, as 20000 or 1000x16"
            )
        return cls(name, int(known[1]), int(known[2] or TASKS))


CASES = tuple(map(Case.named, ("1000", "20000")))


def main(cases: Sequence[Case], seconds: int, sender: str, report: Path) -> None:
    """Run the cases one after the other, print the figures and write them to `report`, each as soon as it is there."""
    unwind_on_term()
    report.parent.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {}

    def tell(found: dict[str, Any]) -> None:
        figures.update(found)
        print(json.dumps(found), flush=True)
        report.write_text(json.dumps(figures, indent=2))

    tell(idle(seconds))
    for case in cases:
        tell({case.name: measured(case.rate, case.tasks, seconds, sender)})


def idle(seconds: int) -> dict[str, float]:
    """What a worker without anything to read costs, and how soon it was ready."""
    with place(FOLDER, TASKS) as here:
        began = time.monotonic()
        with worker(*here) as (_, process):
            ready_seconds = time.monotonic() - began
            time.sleep(WARM_SECONDS)
            before = cpu_seconds(process)
            time.sleep(seconds)
            used = cpu_seconds(process) - before
    return {"idle_cpu": round(used / seconds, 4), "ready_seconds": round(ready_seconds, 2)}


def measured(rate: int, tasks: int, seconds: int, sender: str) -> dict[str, Any]:
    """One case on a cluster of its own, with the sender on the core of `sender`: broker or worker."""
    with place(FOLDER, tasks) as here, worker(*here) as (served, process):
        settings, cores, _ = here
        with cores.starting() if sender == "worker" else contextlib.nullcontext():
            sending = start_sender(rate, seconds)
        told, window = sent(sending, cores, process, seconds)
        commits = read_commits(commits_of(settings))
        told |= _percentiles(latencies_ms(settings, commits, *window))
        inside = [c for c in commits if window[0] <= c.at_seconds < window[1]]
        told["transactions_per_second"] = round(len(inside) / (window[1] - window[0]), 1)
        told["longest_loop_hold_ms"] = longest_hold_ms(served.url)
    return told


def _percentiles(latencies: Any) -> dict[str, float]:
    values = np.percentile(latencies, list(PERCENTILES.values()))
    named = {name: round(float(v), 1) for name, v in zip(PERCENTILES, values, strict=True)}
    return {"rides": len(latencies), **named}


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    """What the command line, or these arguments, ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", type=Case.named, default=CASES, metavar="CASE", help="Only these.")
    parser.add_argument("--seconds", type=int, default=25)
    parser.add_argument("--sender", choices=("broker", "worker"), default="broker", help="On whose core it runs.")
    parser.add_argument("--report", type=Path, default=Path("build/latency.json"))
    return parser.parse_args(arguments)


if __name__ == "__main__":
    asked = parsed()
    main(asked.cases, asked.seconds, asked.sender, asked.report)

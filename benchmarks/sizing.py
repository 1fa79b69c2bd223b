"""What a ride, a row and a final take, as docs/sizing.md reckons with. Nothing is left running.

    python -m benchmarks.sizing --report build/sizing.json
    python -m benchmarks.sizing --cases 1157x4 1157x16 --seconds 60

A case is RATExTASKS, as in `benchmarks.latency`: so many rides a second, evenly, to one worker with the views as
shipped. Bytes are those of the segments on the broker's disk: compressed, one copy, with the marks of transactions.
`finals` come by closing every window at the end; `changelog` is what was written before, not yet compacted.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from datetime import timedelta
from pathlib import Path
from typing import Any

from app.base import names
from app.base.asking import get
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.committed import committed
from app.base.settings import Settings
from app.edge.local.lifetime import unwind_on_term
from app.rides.generator.generator import DEFAULT_START
from app.rides.ride import RIDES, SERVICES
from app.rides.views import ZONE_DEMAND
from benchmarks.bounds import await_rides
from benchmarks.compaction import log_bytes
from benchmarks.latency.committed import read_commits
from benchmarks.latency.sending import WARM_SECONDS, sent, start_sender
from benchmarks.one_worker import commits_of, place, worker

CASES = ("1157x4", "1157x16", "20000x4")
"""A hundred million a day, as if they came evenly; and enough rows for what one takes."""
SECONDS = 60
FINALS_SECONDS, LOOK_SECONDS = 120.0, 2.0
MOST_ROWS = 10_000
"""Of an answer."""
FOLDER = Path("build/bench-sizing")
FINALS = names.finals_topic(ZONE_DEMAND.name)
OF_VIEW = re.compile(r'^flagfall_view_(rows|bytes)\{.*view="(\w+)".*\} (\S+)$', re.MULTILINE)


def main(cases: list[str], seconds: int, report: Path) -> None:
    """Run the cases one after the other, print the figures and write them to `report`."""
    unwind_on_term()
    figures = {}
    for case in cases:
        rate, _, tasks = case.partition("x")
        figures[case] = measured(int(rate), int(tasks), seconds)
        print(json.dumps({case: figures[case]}), flush=True)
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps(figures, indent=2))


def measured(rate: int, tasks: int, seconds: int) -> dict[str, Any]:
    """One case on a cluster of its own."""
    rides = rate * (seconds + WARM_SECONDS)
    with place(FOLDER, tasks) as here, worker(*here) as (served, process):
        settings, cores, _ = here
        told, window = sent(start_sender(rate, seconds), cores, process, seconds)
        await_rides(settings, rides)
        commits = read_commits(commits_of(settings))
        inside = [commit for commit in commits if window[0] <= commit.at_seconds < window[1]]
        return {
            "cores": told["cpu"],
            "memory_mb": told["memory_mb"],
            "transactions_per_second": round(len(inside) / (window[1] - window[0]), 1),
            "bytes_a_ride": {name: round(taken / rides, 1) for name, taken in _taken(settings).items()},
            "views": _of_views(get(f"{served.url}/metrics", timeout_seconds=30).text),
            "bytes_a_final": round(_bytes_a_final(settings, served.url), 1),
        }


def _taken(settings: Settings) -> dict[str, int]:
    changelog = names.changelog_topic(settings.app_id, RIDES.name)
    source = sum(log_bytes(settings, topic) for topic in SERVICES.values())
    return {"source": source, "changelog": log_bytes(settings, changelog)}


def _of_views(metrics: str) -> dict[str, dict[str, float]]:
    """Rows over all tasks, and the bytes of memory that one takes."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for what, view, value in OF_VIEW.findall(metrics):
        sums[view][what] += int(float(value))
    return {view: {"rows": of["rows"], "bytes_a_row": round(of["bytes"] / of["rows"])} for view, of in sums.items()}


def _bytes_a_final(settings: Settings, url: str) -> float:
    """Close every window, and wait until no more finals come than did at the last look."""
    asked = {"limit": MOST_ROWS}
    due = len(get(f"{url}/v1/views/{ZONE_DEMAND.name}/rows", asked, timeout_seconds=30).document()["data"])
    flagfall, closed = Path(sys.executable).with_name("flagfall"), DEFAULT_START + timedelta(days=1)
    subprocess.run([flagfall, "advance", "--to", closed.isoformat()], check=True, capture_output=True)
    deadline, before = time.monotonic() + FINALS_SECONDS, 0
    while (there := _finals(settings)) < due or there > before:
        if time.monotonic() > deadline:
            raise SystemExit(f"{there:,} finals after {FINALS_SECONDS:.0f} s, for {due:,} rows or more")
        before = there
        time.sleep(LOOK_SECONDS)
    return log_bytes(settings, FINALS) / there


def _finals(settings: Settings) -> int:
    client = librdkafka_options(settings.kafka)
    return sum(1 for at in range(settings.topics.partitions) for _ in committed(client, FINALS, at))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--report", type=Path, default=Path("build/sizing.json"))
    arguments = parser.parse_args()
    main(arguments.cases, arguments.seconds, arguments.report)

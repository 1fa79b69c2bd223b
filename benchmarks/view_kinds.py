"""What each kind of view costs against plain tumbling: rides a second through one core, bytes a row; no broker.

python -m benchmarks.view_kinds --rides 200000 --runs 3

Prints JSON: per kind of window, then per kind of group, the rides a second of processor time (the best run: noise only
slows), as a share of the plain view's, its rows, bytes of one in memory and in the changelog, and what a record of that
takes to be read back; then what a sixth view adds to five.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from app.codecs.blobs import Blobs
from app.domain.marker import InputPosition
from app.domain.measures.kinds import Count, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.boundaries import Unit
from app.domain.windows.calendar import Calendar
from app.domain.windows.contract import Window
from app.domain.windows.hopping import Hopping
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.engine.core.batch import Batch, Changes
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer, new_state
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from benchmarks.core import SCHEMA, batches

AT, NEW_YORK = "pickup_at_us", "America/New_York"
BATCH = 20_000
KINDS: dict[str, Window] = {
    "tumbling 5m": Tumbling(AT, 300),
    "tumbling 5m, offset 1m": Tumbling(AT, 300, 60),
    "hour of New York": Calendar(AT, Unit.HOUR, NEW_YORK),
    "day of New York": Calendar(AT, Unit.DAY, NEW_YORK),
    "hopping 15m every 5m": Hopping(AT, 900, 300),
    "hopping 1h every 7m": Hopping(AT, 3600, 420),
    "session, gap 5m": Session(AT, 300),
    "all time": AllTime(),
}
GROUPS: dict[str, tuple[Window, tuple[str, ...]]] = {
    "zone (a number)": (KINDS["tumbling 5m"], ("pickup_zone",)),
    "vendor (a text, few)": (KINDS["tumbling 5m"], ("vendor",)),
    "ride_id (a text, each once)": (KINDS["tumbling 5m"], ("ride_id",)),
    "session by zones, from and to": (KINDS["session, gap 5m"], ("pickup_zone", "dropoff_zone")),
    "session by ride_id": (KINDS["session, gap 5m"], ("ride_id",)),
}


class Run(NamedTuple):
    """Seconds of processor time for all batches, the core behind them, and what went to the changelog."""

    seconds: float
    core: TaskCore
    changelog: Changes


def view_of(window: Window, number: int = 950, groups: Sequence[str] = ("pickup_zone",)) -> View:
    """A view with four measures, kept for ever."""
    measures = (
        Count("rides"),
        Sum("fare_cents", "fare_cents"),
        Sum("tip_cents", "tip_cents"),
        Max("most", "fare_cents"),
    )
    grace_seconds, retention_seconds = 3 * 3600, 10**9
    by = tuple(Group(name, name) for name in groups)
    return View(number, f"kind_{number}", RIDES, by, window, measures, grace_seconds, retention_seconds, "")


def run(views: Sequence[View], prepared: Sequence[Batch]) -> Run:
    """Fold all batches into a new state."""
    definition = TaskDefinition("bench", (RIDES,), tuple(views))
    core = TaskCore(definition, new_state(definition, 0, {t: InputPosition("", 0, 0) for t in definition.topics}))
    seconds, written = 0.0, list[Changes]()
    for batch in prepared:
        started = time.process_time()
        transaction = core.plan(core.read([batch], {SCHEMA.id: SCHEMA}))
        assert transaction is not None
        core.commit(transaction, 0)
        seconds += time.process_time() - started
        written.append(transaction.changelog)
    return Run(seconds, core, Changes.joined(written))


def best(views: Sequence[View], prepared: Sequence[Batch], runs: int) -> Run:
    """The quickest of some runs."""
    return min((run(views, prepared) for _ in range(runs)), key=lambda one: one.seconds)


def restored_us(done: Run, runs: int) -> float:
    """Microseconds of processor time to read a record of the changelog back, of the quickest run."""
    batches_of_it, changelog = list[Batch](), done.changelog
    for first in range(0, len(changelog), BATCH):
        part = changelog[first : first + BATCH]
        offsets = np.arange(first, first + len(part))
        held = Blobs.of(part.keys), Blobs.of(part.values)
        none = [()] * len(part)
        batches_of_it.append(Batch("changelog", 0, first, first + len(part), offsets, offsets, *held, none))
    seconds = list[float]()
    for _ in range(runs):
        restorer, started = Restorer(done.core.definition), time.process_time()
        for batch in batches_of_it:
            restorer.read(batch)
        seconds.append(time.process_time() - started)
    return min(seconds) / len(changelog) * 1e6


def figures(view: View, prepared: Sequence[Batch], runs: int) -> dict[str, float]:
    """Those of one view alone."""
    done = best([view], prepared, runs)
    rides = sum(map(len, prepared))
    (state,) = done.core.state.views.values()
    keys, values = state.stored()
    return {
        "rides_per_second": round(rides / done.seconds),
        "rows": len(state),
        "memory_bytes_per_row": round(state.nbytes / max(1, len(state))),
        "stored_bytes_per_row": round(sum(map(len, keys + values)) / max(1, len(keys))),
        "changelog_bytes_per_ride": round(sum(len(k) + len(v or b"") for k, v in done.changelog) / rides),
        "restored_us_per_record": round(restored_us(done, runs), 2),
    }


def measure(rides: int, runs: int) -> dict[str, object]:
    """Every kind alone, then five views and six."""
    prepared = list(batches(rides, BATCH))
    run([view_of(KINDS["tumbling 5m"])], prepared[:1])  # what is slow once
    kinds = {name: figures(view_of(window), prepared, runs) for name, window in KINDS.items()}
    groups = {name: figures(view_of(window, 950, by), prepared, runs) for name, (window, by) in GROUPS.items()}
    for one in kinds.values():
        one["of_plain"] = round(one["rides_per_second"] / kinds["tumbling 5m"]["rides_per_second"], 2)
    return {"rides": rides, "runs": runs, "kinds": kinds, "groups": groups, "sixth_view": sixth(prepared, rides, runs)}


def sixth(prepared: Sequence[Batch], rides: int, runs: int) -> dict[str, float]:
    """Microseconds a ride with five views, and what one more of the same kind and of a hopping one adds."""
    five = [replace(view_of(Tumbling(AT, 300 * n), 950 + n), name=f"kind_{n}") for n in range(1, 6)]
    per_ride = [
        best(views, prepared, runs).seconds / rides * 1e6
        for views in (
            five,
            [*five, view_of(Tumbling(AT, 1800), 960)],
            [*five, view_of(KINDS["hopping 15m every 5m"], 960)],
        )
    ]
    return {
        "five_views_us_per_ride": round(per_ride[0], 3),
        "a_sixth_tumbling_adds_us": round(per_ride[1] - per_ride[0], 3),
        "a_sixth_hopping_adds_us": round(per_ride[2] - per_ride[0], 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.rides, arguments.runs), indent=2))

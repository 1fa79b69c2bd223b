"""What each kind of window costs against plain tumbling: rides a second through one core, bytes a row; no broker.

python -m benchmarks.view_kinds --rides 200000 --runs 3

Prints JSON: per kind the rides a second of processor time (the best run: noise only slows), as a share of the plain
view's, its rows, and bytes of one in memory and in the changelog; then what a sixth view adds to five.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace

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
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
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


def view_of(window: Window, number: int = 950) -> View:
    """A view by zone with four measures, kept for ever."""
    measures = (
        Count("rides"),
        Sum("fare_cents", "fare_cents"),
        Sum("tip_cents", "tip_cents"),
        Max("most", "fare_cents"),
    )
    grace_seconds, retention_seconds = 3 * 3600, 10**9
    groups = (Group("zone", "pickup_zone"),)
    return View(number, f"kind_{number}", RIDES, groups, window, measures, grace_seconds, retention_seconds, "")


def run(views: Sequence[View], prepared: Sequence[Batch]) -> tuple[float, TaskCore, int]:
    """Seconds of processor time for all batches, the core behind them, and bytes that went to the changelog."""
    definition = TaskDefinition("bench", (RIDES,), tuple(views))
    core = TaskCore(definition, new_state(definition, 0, {t: InputPosition("", 0, 0) for t in definition.topics}))
    seconds, written = 0.0, 0
    for batch in prepared:
        started = time.process_time()
        transaction = core.plan(core.read([batch], {SCHEMA.id: SCHEMA}))
        assert transaction is not None
        core.commit(transaction, 0)
        seconds += time.process_time() - started
        written += sum(len(key) + len(value or b"") for key, value in transaction.changelog)
    return seconds, core, written


def best(views: Sequence[View], prepared: Sequence[Batch], runs: int) -> tuple[float, TaskCore, int]:
    """The quickest of some runs."""
    return min((run(views, prepared) for _ in range(runs)), key=lambda one: one[0])


def measure(rides: int, runs: int) -> dict[str, object]:
    """Every kind alone, then five views and six."""
    prepared = list(batches(rides, BATCH))
    run([view_of(KINDS["tumbling 5m"])], prepared[:1])  # what is slow once
    kinds, plain = {}, 0.0
    for name, window in KINDS.items():
        seconds, core, written = best([view_of(window)], prepared, runs)
        plain = plain or seconds
        (state,) = core.state.views.values()
        keys, values = state.stored()
        kinds[name] = {
            "rides_per_second": round(rides / seconds),
            "of_plain": round(plain / seconds, 2),
            "rows": len(state),
            "memory_bytes_per_row": round(state.nbytes / max(1, len(state))),
            "stored_bytes_per_row": round(sum(map(len, keys + values)) / max(1, len(keys))),
            "changelog_bytes_per_ride": round(written / rides),
        }
    return {"rides": rides, "runs": runs, "kinds": kinds, "sixth_view": sixth(prepared, rides, runs)}


def sixth(prepared: Sequence[Batch], rides: int, runs: int) -> dict[str, float]:
    """Microseconds a ride with five views, and what one more of the same kind and of a hopping one adds."""
    five = [replace(view_of(Tumbling(AT, 300 * n), 950 + n), name=f"kind_{n}") for n in range(1, 6)]
    per_ride = [
        best(views, prepared, runs)[0] / rides * 1e6
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

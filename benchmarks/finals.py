"""What a row takes from where its window ends to its final: closed, gathered, published; one core, no broker.

python -m benchmarks.finals --rides 200000 --runs 3

Prints JSON: per kind of view its rows, and the microseconds of processor time that a row takes in each of the three
stages (the best run of each: noise only slows), as a worker goes through them, transaction by transaction.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from app.base import names
from app.codecs.blobs import Blobs
from app.domain.marker import InputPosition
from app.domain.view import View
from app.engine.core.batch import Batch, Output
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from app.rides.views import ZONE_DEMAND
from benchmarks.core import SCHEMA, batches
from benchmarks.view_kinds import BATCH, GROUPS, view_of

CLOSINGS = 5_000
"""About how many a worker fetches at once."""
FAR_US = 10**12
"""Past the end of every window, session and grace of the rides."""


class Stages(NamedTuple):
    """Seconds of processor time for all rows."""

    closed: float
    gathered: float
    published: float


def stages(view: View, prepared: Sequence[Batch]) -> tuple[Stages, int]:
    """Those of a view, and of how many rows."""
    core = _folded(view, prepared)
    rows = len(core.state.views[view.name])
    for topic in core.definition.by_topic:
        newest_us = max(position.watermark_us for position in core.state.marker.inputs.values())
        transaction = core.advance(topic, newest_us + FAR_US)
        assert transaction is not None
        core.commit(transaction, 0)
    closed, outputs = _kept_up(core)
    closings = [output for output in outputs if output.topic == core.definition.closings]
    started = time.process_time()
    for batch in _as_fetched(core.definition.closings, closings):
        transaction = core.plan(core.read([batch], {}))
        assert transaction is not None
        core.commit(transaction, 0)
    gathered = time.process_time() - started
    published, outputs = _kept_up(core)
    assert sum(output.topic == names.finals_topic(view.name) for output in outputs) == rows
    return Stages(closed, gathered, published), rows


def _folded(view: View, prepared: Sequence[Batch]) -> TaskCore:
    definition = TaskDefinition("bench", (RIDES,), (view,), finals=(view.name,), task_count=1)
    core = TaskCore(definition, new_state(definition, 0, {t: InputPosition("", 0, 0) for t in definition.topics}))
    for batch in prepared:
        transaction = core.plan(core.read([batch], {SCHEMA.id: SCHEMA}))
        assert transaction is not None
        core.commit(transaction, 0)
    return core


def _kept_up(core: TaskCore) -> tuple[float, list[Output]]:
    """Seconds until nothing is left to be done, and what was sent."""
    seconds, sent = 0.0, list[Output]()
    while True:
        started = time.process_time()
        transaction = core.keep_up()
        if transaction is None:
            return seconds, sent
        core.commit(transaction, 0)
        seconds += time.process_time() - started
        sent += transaction.outputs


def _as_fetched(topic: str, closings: Sequence[Output]) -> Iterator[Batch]:
    for first in range(0, len(closings), CLOSINGS):
        some = closings[first : first + CLOSINGS]
        offsets, times_ms, headers = first + np.arange(len(some)), np.zeros(len(some), np.int64), [()] * len(some)
        held = Blobs.of([output.key for output in some]), Blobs.of([output.value for output in some])
        yield Batch(topic, 0, first, first + len(some), offsets, times_ms, *held, headers)


def figures(view: View, prepared: Sequence[Batch], runs: int) -> dict[str, float]:
    """Microseconds a row in each stage, the best of some runs."""
    found = [stages(view, prepared) for _ in range(runs)]
    rows = found[0][1]
    best = Stages(*(min(seconds) for seconds in zip(*(one for one, _ in found), strict=True)))
    return {
        "rows": rows,
        **{f"{stage}_us": round(seconds / rows * 1e6, 2) for stage, seconds in best._asdict().items()},
    }


def measure(rides: int, runs: int) -> dict[str, object]:
    """The shipped view by zone, and views by other groups and of sessions."""
    prepared = list(batches(rides, BATCH))
    views = {"zone_demand": ZONE_DEMAND} | {name: view_of(window, 950, by) for name, (window, by) in GROUPS.items()}
    stages(ZONE_DEMAND, prepared[:1])  # what is slow once
    return {"rides": rides, "runs": runs, "views": {name: figures(one, prepared, runs) for name, one in views.items()}}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rides", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.rides, arguments.runs), indent=2))

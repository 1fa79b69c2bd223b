"""One history from beginning to end: what is wrong with it, and what happened in it."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass, field

import polars as pl

from app.testkit.checks.verdict import end_problems, look
from app.testkit.simulation.script import Script
from app.testkit.simulation.steps import Look
from app.testkit.simulation.world import World


@dataclass
class EndedHistory:
    """How a history ended: `problems` in words, none if all is right; `tally` counts what it came to."""

    problems: list[str]
    tally: Counter[str] = field(default_factory=Counter)


def run_script(script: Script) -> EndedHistory:
    """Play all steps, then compare everything.

    Whatever a worker raises other than that it was fenced is a problem, and ends the history.
    """
    world = World(script)
    try:
        problems = _problems(world)
    except (Exception, pl.exceptions.PanicException) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        problems = [f"{type(error).__name__} in {where.name} ({where.filename}:{where.lineno}): {error}"]
    return EndedHistory(problems, world.workers.tally)


def _problems(world: World) -> list[str]:
    problems: list[str] = []
    for number, step in enumerate(world.script.steps):
        world.play(step)
        if isinstance(step, Look):
            task = world.workers.tasks.get((step.worker, step.partition))
            if task is not None and task.core is not None:
                problems += (f"step {number}: {problem}" for problem in look(world, task.core.state))
    return problems or end_problems(world)

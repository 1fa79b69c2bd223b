"""What tasks have sent on, against the naive fold: each record exactly once in committed data, with its content."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from app.base import names
from app.engine.core.task_state import TaskState
from app.testkit.checks.branches import branch_problems
from app.testkit.checks.finals import final_problems
from app.testkit.checks.pairs import alert_problems, join_problems
from app.testkit.checks.refusals import refusal_problems
from app.testkit.checks.written import Settled
from app.testkit.simulation.inputs import Asked
from app.testkit.simulation.world import APPLICATION, World


def output_problems(world: World, settled: Settled) -> Iterator[str]:
    """Everything that is wrong with what was sent on, by all tasks together."""
    yield from refusal_problems(world, settled)
    for state, _ in settled:
        yield from _advance_problems(world, state)
    for join in world.definition.joins:
        yield from (f"join {join.name}: {problem}" for problem in join_problems(world, settled, join))
    for alert in world.definition.alerts:
        yield from (f"alert {alert.name}: {problem}" for problem in alert_problems(world, settled, alert))
    for name in world.definition.finals:
        yield from final_problems(world, settled, world.definition.by_name[name])
    for branch in world.definition.branches:
        yield from branch_problems(world, [expected for _, expected in settled], branch)
    known = {names.quarantine_topic(APPLICATION), names.late_topic(APPLICATION), names.advances_topic(APPLICATION)}
    known |= {names.unmatched_topic(APPLICATION), *(one.output.name for one in world.definition.pairing)}
    known.add(names.corrected_topic(APPLICATION))
    known |= {topic for branch in world.definition.branches for topic in branch.outputs}
    known |= {names.finals_topic(name) for name in world.script.finals}
    known |= {names.closing_topic(APPLICATION, world.definition.name)} if world.script.finals else set()
    known |= {*world.definition.topics, world.changelog(0).topic, names.begun_topic(APPLICATION)}
    yield from (f"nobody expects records in {topic}" for topic in sorted(world.broker.topics - known))


def _advance_problems(world: World, state: TaskState) -> Iterator[str]:
    """Each recorded advance answers a request, not before its time; what was not answered was not needed."""
    for topic, position in state.marker.inputs.items():
        mine = [a for a in world.advances() if (a.topic, a.partition) == (topic, state.partition)]
        asked = [
            a for a in world.inputs.asked if a.request.place == (topic, state.partition) and a.request.flaw is None
        ]
        if any(a.watermark_us >= b.watermark_us for a, b in pairwise(mine)):
            yield f"{topic}-{state.partition}: advances do not rise: {mine}"
        for advance in mine:
            idle = advance.watermark_us in world.workers.idle_advances_us
            if not idle and not any(_answers(advance.watermark_us, advance.at_offset, request) for request in asked):
                yield f"{topic}-{state.partition}: nobody asked for {advance}"
        for request in asked:
            if request.request.watermark_us > position.watermark_us:
                yield f"{topic}-{state.partition}: not done: {request.request}"


def _answers(watermark_us: int, at_offset: int, asked: Asked) -> bool:
    return asked.request.watermark_us == watermark_us and asked.not_before <= at_offset

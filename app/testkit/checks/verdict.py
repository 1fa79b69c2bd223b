"""Whether a history is going, and has ended, as the rules say."""

from __future__ import annotations

import random
from collections import Counter

from app.base import names
from app.domain.event_time import NO_WATERMARK
from app.engine.core.task_state import TaskState
from app.testkit.checks import states as state_checks
from app.testkit.checks.corrections import correction_problems, outcomes_of
from app.testkit.checks.expected import Expected
from app.testkit.checks.outputs import output_problems
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.simulation.world import APPLICATION, World


def look(world: World, state: TaskState) -> list[str]:
    """What is wrong with what queries see of a task now, be it a zombie's or in the middle of things."""
    problems = [*state_checks.committed_problems(world, state)]
    problems += state_checks.content_problems(_expected(world, state), state)
    return [f"{_where(state)}: {problem}" for problem in problems]


def end_problems(world: World) -> list[str]:
    """Everything that is wrong after a history; empty is right. It settles the world first."""
    problems: list[str] = []
    settled = []
    for task in world.settle():
        state = _state(task)
        expected = _expected(world, state)
        settled.append((state, expected))
        found = [
            *state_checks.content_problems(expected, state),
            *state_checks.settled_problems(world, expected, state),
            *state_checks.sequence_problems(world, state),
            *state_checks.restored_problems(world, task, state),
        ]
        log = world.changelog(task.partition)
        log.compact(log.end, tombstones=True)
        compacted = state_checks.restored_problems(world, task, state)
        found += (f"after compaction, {problem}" for problem in compacted)
        problems += (f"{_where(state)}: {problem}" for problem in found)
    problems += output_problems(world, settled)
    for state, expected in settled:
        problems += (f"{_where(state)}: {problem}" for problem in correction_problems(world, expected))
    for state, expected in settled:
        world.workers.tally += _tally(state, expected)
    for topic in (topic for branch in world.definition.branches for topic in branch.outputs):
        world.workers.tally["branched"] += sum(entry.record is not None for _, entry in world.broker.committed(topic))
    for task, (state, _) in zip(world.taken_over(random.Random(world.script.seed)), settled, strict=True):
        if _state(task).marker != state.marker:
            problems.append(f"{_where(state)}: taken over again it has something to do: {_state(task).marker}")
    return problems


def _expected(world: World, state: TaskState) -> Expected:
    facts = [fact for fact in world.inputs.facts if fact.place.partition == state.partition]
    advances = [a for a in world.advances() if a.partition == state.partition]
    read_to = state.marker.inputs[names.corrections_topic(APPLICATION, world.definition.name)].next_offset
    outcomes = [o for o in outcomes_of(world, state.partition) if o.offset < read_to]
    return Expected(state.marker, facts, advances, outcomes)


def _state(task: SimulatedTask) -> TaskState:
    if task.core is None:
        raise ValueError(f"task {task.partition} has not been taken over")
    return task.core.state


def _tally(state: TaskState, expected: Expected) -> Counter[str]:
    """What a task came to, for the figures of a run."""
    marker, tally = state.marker, Counter[str]()
    tally["transactions"] = marker.sequence
    tally["records"] = sum(position.decoded + position.quarantined for position in marker.inputs.values())
    tally["quarantined"] = sum(position.quarantined for position in marker.inputs.values())
    for view in marker.views.values():
        tally["applied"] += sum(fates.applied for fates in view.fates.values())
        tally["late"] += sum(fates.late for fates in view.fates.values())
        tally["views expired"] += view.expired_to_us is not None
        tally["views closed"] += view.closed_to_us is not None
        tally["graces changed"] += sum(len(epochs) - 1 for epochs in view.graces.values())
        tally["windows kept closed"] += sum(e.floor_us != NO_WATERMARK for es in view.graces.values() for e in es)
    tally["skews changed"] = sum(max(0, len(position.skews) - 1) for position in marker.inputs.values())
    tally["corrected"] = sum(outcome.why is None for outcome in expected.outcomes)
    for join in marker.joins.values():
        tally["joined"] += join.joined
        tally["unmatched"] += join.unmatched
    tally["alerts"] += sum(alert.told for alert in marker.alerts.values())
    return tally


def _where(state: TaskState) -> str:
    offsets = ", ".join(f"{topic} {offset}" for topic, offset in sorted(state.marker.next_offsets.items()) if offset)
    return f"task {state.partition} at {offsets or 'its start'}"

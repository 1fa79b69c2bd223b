"""A task's state, and what its changelog restores to, against the naive fold. Every check gives problems in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from app.codecs.stored.changelog import BlockKey, decode_block
from app.domain.marker import LIVE, Fates
from app.domain.rows import end_of
from app.engine.core.restore import Restorer
from app.engine.core.task_state import TaskState
from app.testkit.checks.epochs import changed_epoch_problems, epoch_problems
from app.testkit.checks.expected import Expected, ExpectedView
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.received import stored_rows
from app.testkit.simulation.world import World


def content_problems(expected: Expected, state: TaskState) -> Iterator[str]:
    """Ledgers, watermarks, rows and blocks of any state, given how far its marker says it is."""
    yield from _input_problems(expected, state)
    yield from epoch_problems(expected, state)
    blocks: dict[BlockKey, tuple[int, int]] = {}
    for held in state.views.values():
        wanted = expected.view(held.view)
        blocks |= wanted.blocks
        yield from (f"view {held.view.name}: {problem}" for problem in _view_problems(wanted, state))
    mine = {(held.view.number, held.view.version) for held in state.views.values()}
    found = {decode_block(key, bytes([1]) + bytes(16))[0]: total for key, total in state.blocks.items()}
    here = {key: total for key, total in found.items() if (key.view_number, key.version) in mine}
    yield from difference("block", blocks, here)


def committed_problems(world: World, state: TaskState) -> Iterator[str]:
    """Queries may see only what a committed transaction wrote."""
    if not state.marker.sequence:
        return
    world.note_markers(state.partition)
    logged = world.markers[state.partition].get(state.marker.sequence)
    if logged is None or any(logged.next_offsets.get(t, o) != o for t, o in state.marker.next_offsets.items()):
        yield f"queries see what no committed transaction {state.marker.sequence} wrote"


def settled_problems(world: World, expected: Expected, state: TaskState) -> Iterator[str]:
    """A task that has nothing left to do has read everything, told all it knows, dropped what it need not keep."""
    if state.marker.sequence and world.markers[state.partition][state.marker.sequence] != state.marker:
        yield "the marker says more than its log"
    for topic, position in state.marker.inputs.items():
        end = world.broker.log(topic, state.partition).end
        if position.next_offset != end and topic in world.definition.topics:
            yield f"{topic} is folded to {position.next_offset}, the log ends at {end}"
    for held in state.views.values():
        if (is_now := state.marker.views[held.view.name].state) != LIVE:
            yield f"view {held.view.name}: {is_now}, with nothing left to read"
        wanted = expected.view(held.view)
        to_us = wanted.expirable_to_us
        if to_us is not None and held.view.name not in world.definition.finals:
            for key, cells in stored_rows(held).items():
                if end_of(held.view, key, cells) <= to_us:
                    yield f"view {held.view.name}: row {key} should have expired"
        closed_to_us, due_us = state.marker.views[held.view.name].closed_to_us, wanted.closable_to_us
        if due_us is not None and held.view.name in world.definition.finals and (closed_to_us or due_us - 1) < due_us:
            yield f"view {held.view.name}: closed to {closed_to_us}, not to {due_us}"


def sequence_problems(world: World, state: TaskState) -> Iterator[str]:
    """Committed transactions are numbered without a gap, and none goes back."""
    noted = world.markers[state.partition]
    if sorted(noted) != list(range(1, state.marker.sequence + 1)):
        yield f"committed transactions are {sorted(noted)}, the last {state.marker.sequence}"
    for earlier, later in pairwise(sorted(noted)):
        before, after = noted[earlier].next_offsets, noted[later].next_offsets
        if any(before[topic] > after[topic] for topic in before):
            yield f"transaction {later} goes back from {before} to {after}"
        yield from (f"transaction {later}: {wrong}" for wrong in changed_epoch_problems(noted[earlier], noted[later]))


def restored_problems(world: World, task: SimulatedTask, state: TaskState) -> Iterator[str]:
    """What a cold read of the changelog gives, against the state of its owner."""
    log, restorer = world.changelog(state.partition), Restorer(task.definition)
    at = log.start
    while at < log.end:
        batch = log.fetch(at, 1000)
        if batch.next_offset == at:
            yield f"the changelog cannot be read behind {at}"
            return
        restorer.read(batch)
        at = batch.next_offset
    cold = restorer.finish(task.starts(), state.partition)
    if (cold.marker.sequence, cold.marker_offset) != (state.marker.sequence, state.marker_offset):
        yield f"the changelog's marker is {cold.marker} at {cold.marker_offset}, the owner's {state.marker}"
    wanted, found = _contents(state), _contents(cold)
    for part in wanted:
        yield from (f"changelog: {problem}" for problem in difference(part, wanted[part], found[part]))


def difference(what: str, wanted: Mapping[Any, Any], found: Mapping[Any, Any]) -> Iterator[str]:
    """Entries that are missing, different, or there though they should not be."""
    for key in wanted.keys() | found.keys():
        if wanted.get(key) != found.get(key):
            yield f"{what} {key}: {found.get(key)}, not {wanted.get(key)}"


def _input_problems(expected: Expected, state: TaskState) -> Iterator[str]:
    topics = {fact.place.topic for fact in expected.facts}
    for topic, position in state.marker.inputs.items():
        if not position.adds_up:
            yield f"{topic}: the ledger does not add up: {position}"
        if topic not in topics:
            continue
        total = sum(1 for at, _ in expected.inside if at == topic)
        bad = sum(1 for at, _ in expected.refused if at == topic)
        if (position.decoded, position.quarantined) != (total - bad, bad):
            yield f"{topic}: {position.decoded} decoded, {position.quarantined} quarantined, not {total - bad}, {bad}"
        if position.watermark_us not in expected.watermarks_us(topic):
            yield f"{topic}: watermark {position.watermark_us}, not {expected.watermarks_us(topic)}"


def _view_problems(wanted: ExpectedView, state: TaskState) -> Iterator[str]:
    held = state.views[wanted.view.name]
    yield from difference("row", wanted.rows, stored_rows(held))
    yield from difference("fates in", _seen(wanted.fates), _seen(state.marker.views[wanted.view.name].fates))
    if not wanted.view.window.ends and state.marker.views[wanted.view.name].expired_to_us is not None:
        yield "rows of all time expired"


def _seen(fates: Mapping[str, Fates]) -> dict[str, Fates]:
    return {topic: counts for topic, counts in fates.items() if counts.total}


def _contents(state: TaskState) -> dict[str, Mapping[Any, Any]]:
    """All that a state holds beside its marker, by kind."""
    held = {f"row of {name}": stored_rows(view) for name, view in state.views.items()}
    waiting = {f"closing row of {name}": stored_rows(view) for name, view in state.closings.items()}
    halves = {f"half of {name}": each.stored() for name, each in state.halves.items()}
    marks = {f"mark of {name}": each for name, each in state.marks.items()}
    finals = {f"remembered final of {name}": stored_rows(view) for name, view in state.finals.items()}
    return {**held, **waiting, **finals, **halves, **marks, "block": state.blocks}

"""What a task's loop waits for, and what goes on meanwhile: the registry, and records before a request."""

from __future__ import annotations

import asyncio

import pytest

from app.codecs.avro.schema import framing
from app.engine.drive.kafka import schemas as schemas_module
from app.engine.drive.standing import Doing
from tests.support.material.histories import SCHEMA, START_US
from tests.support.tasks.runner_world import World, green
from tests.support.tasks.runners import GREEN, HOLD_RECORDS, VALUE, YELLOW, yellow
from tests.support.tasks.task_batches import REQUESTS, batch_of, request

FOREIGN = 900
FOREIGN_VALUE = framing(FOREIGN) + VALUE[5:]
"""A ride that names a schema id of which the registry has not told yet."""


async def test_a_task_waits_while_the_registry_cannot_be_reached_and_quarantines_nothing(world: World) -> None:
    """Only a definite "no such id" does (rule 15)."""
    world.registry.failures = 3
    world.offer(yellow(0))
    await world.until("done", YELLOW, 0)
    assert world.registry.asked == [SCHEMA.id] * 4
    assert world.core.state.marker.inputs[YELLOW].decoded == 1
    assert world.writer.written[0].outputs == []


async def test_a_schema_that_the_registry_does_not_have_quarantines_its_records(world: World) -> None:
    world.offer(batch_of(YELLOW, [b"\x00\x00\x00\x00\x63abc"]))
    await world.until("done", YELLOW, 0)
    (output,) = world.writer.written[0].outputs
    assert dict(output.headers)["flagfall-reason"] == b"unknown_schema"


async def test_a_schema_is_asked_for_once(world: World) -> None:
    for base in range(3):
        world.offer(yellow(base))
        await world.until("done", YELLOW, base)
    assert world.registry.asked == [SCHEMA.id]


async def test_a_topic_that_waits_for_the_registry_holds_back_no_other(world: World) -> None:
    """offered: y0 by a schema that nobody tells of, y1, g0, g1   written: |g0|g1|, and once it is told: |y0 y1|"""
    world.registry.silent_about = {FOREIGN}
    world.offer(batch_of(YELLOW, [FOREIGN_VALUE]), yellow(1), green(0))
    await world.until("done", GREEN, 0)
    world.offer(green(1))
    await world.until("done", GREEN, 1)
    assert world.cuts == [{GREEN: 1}, {GREEN: 2}]
    assert (world.runner.doing(YELLOW), world.runner.doing(GREEN)) == (Doing.ASKING_REGISTRY, Doing.NOTHING)
    world.registry.silent_about = ()
    await world.until("done", YELLOW, 1)
    assert world.cuts[2:] == [{GREEN: 2, YELLOW: 2}]


async def test_a_task_says_that_it_waits_for_its_turn_of_topics_that_have_something_for_it(world: World) -> None:
    """offered: y0, and no turn comes; then one does"""
    world.budget.hold()
    world.offer(yellow(0))
    await world.budget.asked.acquire()
    assert (world.runner.doing(YELLOW), world.runner.doing(GREEN)) == (Doing.AWAITING_TURN, Doing.NOTHING)
    world.budget.left.release()
    await world.until("done", YELLOW, 0)
    assert world.runner.doing(YELLOW) is Doing.NOTHING


async def test_what_waits_behind_an_unknown_schema_makes_no_large_transaction(world: World) -> None:
    """offered: y0 by a schema that nobody tells of, y1 .. y4 (enough), g0: the other topic waits for its turn."""
    world.registry.silent_about = {FOREIGN}
    world.offer(batch_of(YELLOW, [FOREIGN_VALUE]))
    await world.budget.asked.acquire()
    world.offer(yellow(1, HOLD_RECORDS), green(0))
    await world.until("done", GREEN, 0)
    assert world.told[0] == ("full", YELLOW)
    assert not world.budget.asked.locked()


async def test_more_unknown_ids_than_are_remembered_hold_back_nothing_for_ever(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was asked for a batch is what it is read by, whatever is forgotten meanwhile."""
    monkeypatch.setattr(schemas_module, "UNKNOWN_SECONDS", 0.0)
    monkeypatch.setattr(schemas_module, "MOST_UNKNOWN", 1)
    world.offer(batch_of(YELLOW, [framing(FOREIGN + n) + VALUE[5:] for n in range(HOLD_RECORDS)]))
    await world.until("done", YELLOW, 0)
    assert world.core.state.marker.inputs[YELLOW].quarantined == HOLD_RECORDS


async def test_a_task_that_waits_for_the_registry_can_be_stopped(world: World) -> None:
    """Nothing was begun, so the state is as good as before."""
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    world.registry.failures = 10**9
    world.registry.after_look_up = lambda: loop.call_soon_threadsafe(asked.set)  # type: ignore[assignment]
    world.offer(yellow(0))
    await asked.wait()
    assert await world.runner.stop(grace_seconds=30) is True
    assert world.core.state.marker.sequence == 0


async def test_a_request_to_advance_waits_for_the_rides_before_it_and_holds_up_nothing_else(world: World) -> None:
    """`--close` against a task that lags must make no ride late that was written before it."""
    asked = batch_of(REQUESTS, [request(not_before_offset=2, watermark_us=START_US + 10**15)])
    world.log_ends.end = 2
    world.offer(asked, yellow(0), green(0))
    await world.until("done", GREEN)
    assert world.core.state.marker.inputs[REQUESTS].next_offset == 0
    world.offer(yellow(1))
    await world.until("done", REQUESTS)
    position = world.core.state.marker.inputs[YELLOW]
    assert position.next_offset == 2
    assert position.watermark_us == START_US + 10**15
    assert all(view.fates[YELLOW].late == 0 for view in world.core.state.marker.views.values())


async def test_a_request_for_an_offset_beyond_the_log_holds_back_no_later_one(world: World) -> None:
    """The log's end is asked for once for all that came before: it can only have grown since."""
    world.log_ends.end = 2
    beyond = [request(not_before_offset=3 + n, watermark_us=START_US + 10**15) for n in range(2)]
    world.offer(batch_of(REQUESTS, beyond))
    world.offer(batch_of(REQUESTS, [request(watermark_us=START_US + 5)], base=2))
    await world.until("done", REQUESTS, 2)
    reasons = [dict(o.headers)["flagfall-reason"] for w in world.writer.written for o in w.outputs if o.headers]
    assert reasons == [b"unreachable_offset"] * 2
    assert world.core.state.marker.inputs[YELLOW].watermark_us == START_US + 5
    assert world.log_ends.times == 1

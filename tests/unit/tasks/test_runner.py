"""One task's loop: when it says done, what fails in it, and how it ends. A fake writer stands for the broker."""

from __future__ import annotations

import asyncio

import pytest
from polars.exceptions import PanicException

from app.engine.drive import failpoints, waiting
from app.engine.drive.transactions.writer import Fenced
from tests.support.tasks.runner_world import World, green
from tests.support.tasks.runners import GREEN, HOLD_RECORDS, VALUE, YELLOW, yellow


async def test_done_is_said_after_the_commit_once_per_batch_in_order(world: World) -> None:
    """Each is told with the position of the committed state at that moment."""
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(yellow(1), yellow(2))
    assert world.told == []
    assert world.core.state.marker.inputs[YELLOW].next_offset == 0
    world.writer.let_go(2)
    await world.until("done", YELLOW, 2)
    assert world.told == [("done", YELLOW, 0, 1), ("done", YELLOW, 1, 3), ("done", YELLOW, 2, 3)]


async def test_what_was_committed_before_is_done_without_a_transaction(world: World) -> None:
    """A fetch from before a seek gives records again."""
    world.offer(yellow(0, 3))
    await world.until("done", YELLOW, 0)
    world.offer(yellow(1, 2))
    await world.until("done", YELLOW, 1)
    assert world.cuts == [{YELLOW: 3}]


async def test_a_topic_with_enough_waiting_is_full_until_the_last_of_it_is_taken(world: World) -> None:
    """waiting: 3, then 3 + 1 (enough), then 3 + 1 + 1; taken: |3 + 1| and then |1|"""
    world.writer.hold()
    world.offer(green(0))
    await world.until_writing()
    world.offer(yellow(0, HOLD_RECORDS - 1))
    assert world.told == []
    world.offer(yellow(3), yellow(4))
    world.writer.let_go(3)
    await world.until("done", YELLOW, 4)
    assert world.told == [
        ("full", YELLOW),
        ("full", YELLOW),
        ("done", GREEN, 0, 1),
        ("done", YELLOW, 0, 4),
        ("done", YELLOW, 3, 4),
        ("drained", YELLOW),
        ("done", YELLOW, 4, 5),
    ]


async def test_large_records_are_enough_though_they_are_few(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else batches of a hundred megabytes were joined until no buffer holds them. Waiting: 1 + 1 (enough) + 1."""
    monkeypatch.setattr(waiting, "HOLD_BYTES", 2 * len(VALUE))
    world.writer.hold()
    world.offer(green(0))
    await world.until_writing()
    world.offer(yellow(0), yellow(1), yellow(2))
    world.writer.let_go(3)
    await world.until("done", YELLOW, 2)
    assert world.told == [
        ("full", YELLOW),
        ("full", YELLOW),
        ("done", GREEN, 0, 1),
        ("done", YELLOW, 0, 2),
        ("done", YELLOW, 1, 2),
        ("drained", YELLOW),
        ("done", YELLOW, 2, 3),
    ]


async def test_a_topic_that_never_was_full_is_not_drained(world: World) -> None:
    world.offer(yellow(0))
    await world.until("done", YELLOW, 0)
    assert world.told == [("done", YELLOW, 0, 1)]


async def test_a_batch_behind_a_gap_is_dropped_and_the_missing_offset_asked_for(world: World) -> None:
    """offered: 0, 5, 1   the one at 5 is not kept: it will be fetched again"""
    world.offer(yellow(0), yellow(5), yellow(1))
    await world.until("done", YELLOW, 1)
    assert ("gap", YELLOW, 1) in world.told
    assert world.core.state.marker.inputs[YELLOW].next_offset == 2
    assert not any(told[:3] == ("done", YELLOW, 5) for told in world.told)


@pytest.mark.parametrize(
    "error",
    [Fenced("taken over"), ConnectionError("broker gone"), PanicException("range end index out of range")],
    ids=["fenced", "broker lost", "panic"],
)
async def test_a_failure_is_told_once_and_nothing_is_processed_after_it(error: BaseException, world: World) -> None:
    """The log may hold more than the state: whoever goes on would build on sand."""
    world.writer.error = error
    world.offer(yellow(0))
    await world.until("failed")
    world.writer.error = None
    world.offer(yellow(1), green(0))
    assert await world.runner.stop(grace_seconds=5) is False
    assert world.told == [("failed", world.runner, error)]
    assert world.writer.written == []
    assert world.core.state.marker.sequence == 0


async def test_a_failed_batch_says_no_done_for_those_merged_into_it(world: World) -> None:
    world.writer.hold()
    world.writer.error = Fenced("taken over")
    world.offer(yellow(0), yellow(1))
    world.writer.let_go()
    await world.until("failed")
    assert [told[0] for told in world.told] == ["failed"]


async def test_a_batch_that_the_core_refuses_ends_the_loop(world: World) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("impossible")

    world.core.plan = refuse  # type: ignore[assignment, method-assign]
    world.offer(yellow(0))
    await world.until("failed")
    assert isinstance(world.told[0][2], ValueError)
    assert [(b.topic, b.base_offset, b.next_offset) for b in world.runner.stood.folded] == [(YELLOW, 0, 1)]
    assert await world.runner.stop(grace_seconds=30) is False


async def test_a_failure_before_the_core_has_the_batch_is_one_of_that_batch(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failpoints, "_armed", failpoints.Failpoint.parse(f"{failpoints.BATCH_TAKEN}:raise"))
    world.offer(yellow(0))
    await world.until("failed")
    assert [batch.topic for batch in world.runner.stood.folded] == [YELLOW]


async def test_a_failure_at_something_else_tells_what_waits(world: World) -> None:
    def refuse() -> None:
        raise ValueError("impossible")

    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.core.keep_up = refuse  # type: ignore[method-assign]
    world.offer(yellow(1))
    world.writer.let_go()
    await world.until("failed")
    stood = world.runner.stood
    assert (stood.folded, [batch.base_offset for batch in stood.ahead], stood.positions[YELLOW]) == ((), [1], 1)


async def test_a_stop_waits_for_the_transaction_under_way_and_takes_no_other(world: World) -> None:
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(yellow(1))
    stopping = asyncio.create_task(world.runner.stop(grace_seconds=30))
    world.writer.let_go(9)
    assert await stopping is True
    assert world.cuts == [{YELLOW: 1}]
    assert world.writer.stopped


async def test_a_stop_that_must_break_off_a_transaction_says_that_the_state_is_void(world: World) -> None:
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    assert await world.runner.stop(grace_seconds=0) is False
    assert world.writer.stopped
    assert world.told == []


async def test_an_idle_runner_stops_cleanly_at_once(world: World) -> None:
    world.offer(yellow(0))
    await world.until("done", YELLOW, 0)
    assert await world.runner.stop(grace_seconds=30) is True


async def test_a_runner_that_was_never_started_stops_cleanly() -> None:
    world = World()
    assert await world.runner.stop(grace_seconds=0) is True
    assert world.writer.stopped

"""What a task's loop folds together: how large, of which topics, and when it waits for its turn."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.drive.budget import BURST_SECONDS, TransactionBudget
from tests.support.material.histories import START_US
from tests.support.tasks.runner_world import World, green
from tests.support.tasks.runners import GREEN, HOLD_RECORDS, YELLOW, yellow
from tests.support.tasks.task_batches import REQUESTS, batch_of, request


async def test_what_is_offered_while_a_transaction_is_under_way_becomes_one_batch(world: World) -> None:
    """written: |0|   meanwhile offered: 1, 2, 3   written: |1 2 3|"""
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(yellow(1), yellow(2), yellow(3))
    world.writer.let_go(2)
    await world.until("done", YELLOW, 3)
    assert world.cuts == [{YELLOW: 1}, {YELLOW: 4}]
    assert world.core.state.marker_offset == 102


async def test_no_batch_is_larger_than_the_largest(world: World) -> None:
    """waiting: 3 + 3 + 1 records, 4 are enough: |3 + 1| and then |2 + 1|; done is what is in it whole"""
    world.writer.hold()
    world.offer(green(0))
    await world.until_writing()
    world.offer(yellow(0, 3), yellow(3, 3), yellow(6))
    world.writer.let_go(3)
    await world.until("done", YELLOW, 6)
    assert world.cuts == [{GREEN: 1}, {GREEN: 1, YELLOW: 4}, {GREEN: 1, YELLOW: 7}]
    done = [told for told in world.told if told[:2] == ("done", YELLOW)]
    assert done == [("done", YELLOW, 0, 4), ("done", YELLOW, 3, 7), ("done", YELLOW, 6, 7)]


async def test_requests_go_in_batches_a_tenth_as_large(world: World) -> None:
    """offered at once: two requests, where 4 records are enough: |1|1|"""
    world.offer(batch_of(REQUESTS, [request(), request()]))
    await world.until("done", REQUESTS, 0)
    assert world.cuts == [{REQUESTS: 1}, {REQUESTS: 2}]


async def test_a_fetch_of_many_records_is_written_in_parts(world: World) -> None:
    """offered: 10 records at once, 4 are enough: |4|4|2|"""
    world.offer(yellow(0, 10))
    await world.until("done", YELLOW, 0)
    assert world.cuts == [{YELLOW: 4}, {YELLOW: 8}, {YELLOW: 10}]
    assert [told for told in world.told if told[0] == "done"] == [("done", YELLOW, 0, 10)]


async def test_what_waits_of_several_topics_shares_a_transaction(world: World) -> None:
    """written: |y0|   meanwhile offered: g0, y1, g1   written: |g0 g1 y1|"""
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(green(0), yellow(1), green(1))
    world.writer.let_go(2)
    await world.until("done", YELLOW, 1)
    assert world.cuts == [{YELLOW: 1}, {YELLOW: 2, GREEN: 2}]
    assert [told[:3] for told in world.told] == [
        ("done", YELLOW, 0),
        ("done", GREEN, 0),
        ("done", GREEN, 1),
        ("done", YELLOW, 1),
    ]


async def test_topics_that_are_too_much_together_take_turns(world: World) -> None:
    """waiting: 3 + 2 records of two topics, 4 are the largest batch: |g g g| and then |y y|"""
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(green(0, 3), yellow(1, 2))
    world.writer.let_go(3)
    await world.until("done", YELLOW, 1)
    assert world.cuts == [{YELLOW: 1}, {YELLOW: 1, GREEN: 3}, {YELLOW: 3, GREEN: 3}]


async def test_requests_never_share_a_transaction_with_rides(world: World) -> None:
    """What a request does is defined by the position at which it is taken."""
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(batch_of(REQUESTS, [request(watermark_us=START_US + 10**15)]), green(0))
    world.writer.let_go(3)
    await world.until("done", GREEN)
    assert world.cuts == [{YELLOW: 1}, {YELLOW: 1, REQUESTS: 1}, {YELLOW: 1, REQUESTS: 1, GREEN: 1}]


async def test_what_comes_while_a_task_waits_for_its_turn_goes_along(world: World) -> None:
    await world.learn()
    world.budget.hold()
    world.offer(yellow(0))
    await world.budget.asked.acquire()
    world.offer(yellow(1), green(0))
    assert world.writer.written == []
    world.budget.left.release()
    await world.until("done", GREEN)
    assert world.cuts == [{YELLOW: 2, GREEN: 1}]


async def test_a_task_with_enough_for_a_large_transaction_waits_for_no_turn(world: World) -> None:
    world.budget.hold()
    world.offer(yellow(0, HOLD_RECORDS))
    await world.until("done", YELLOW)
    assert world.cuts == [{YELLOW: HOLD_RECORDS}]


async def test_while_there_is_enough_to_fold_upkeep_comes_after_several_batches(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """written: |y0|   meanwhile offered: nine times what fits: upkeep after every fourth, and when no more waits"""
    await world.learn()
    loop = asyncio.get_running_loop()

    def keep_up() -> None:
        loop.call_soon_threadsafe(world.tell, "kept up", len(world.writer.written))

    monkeypatch.setattr(world.core, "keep_up", keep_up)
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(yellow(1, 9 * HOLD_RECORDS))
    world.writer.let_go(10)
    await world.until("kept up", 10)
    assert [told for told in world.told if told[0] == "kept up"] == [("kept up", 4), ("kept up", 8), ("kept up", 10)]


async def test_what_was_fetched_together_is_waited_for() -> None:
    """A turn that is free at once still lets the loop go, for what is on its way."""
    budget, seen = TransactionBudget(per_second=0), list[str]()
    asyncio.get_running_loop().call_soon(seen.append, "offered")
    await budget.turn()
    assert seen == ["offered"]


async def test_a_task_that_waits_for_its_turn_can_be_stopped(world: World) -> None:
    world.budget.hold()
    world.offer(yellow(0))
    await world.budget.asked.acquire()
    assert await world.runner.stop(grace_seconds=30) is True
    assert world.writer.written == []


@given(st.lists(st.floats(0, 0.05), min_size=1, max_size=200), st.integers(1, 500))
def test_a_budget_is_kept_over_any_time(gaps: list[float], per_second: int) -> None:
    """However turns are asked for, in any stretch of time there come no more than fit, and those of a burst."""
    budget, now, turns = TransactionBudget(per_second), 0.0, list[float]()
    for gap in gaps:
        now += gap
        turns.append(now + budget.reserve(now))
    assert turns == sorted(turns)
    for i in range(len(turns)):
        for j in range(i, len(turns)):
            assert j - i <= (turns[j] - turns[i] + BURST_SECONDS) * per_second + 1e-6


def test_a_budget_that_is_not_used_up_lets_nobody_wait() -> None:
    budget = TransactionBudget(per_second=20)
    assert [budget.reserve(now / 20) for now in range(100)] == [0.0] * 100


def test_without_a_budget_nobody_waits() -> None:
    budget = TransactionBudget(per_second=0)
    assert [budget.reserve(1.0) for _ in range(1000)] == [0.0] * 1000

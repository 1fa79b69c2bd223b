"""One task's loop: what it merges, when it says done, and how it ends. A fake writer stands for the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.exceptions import PanicException

from app.codecs.avro.encode import framing
from app.engine.core.batch import Batch
from app.engine.drive import waiting
from app.engine.drive.budget import BURST_SECONDS, TransactionBudget
from app.engine.drive.kafka import schemas as schemas_module
from app.engine.drive.kafka.schemas import SchemaCache
from app.engine.drive.kafka.writer import Fenced
from app.engine.drive.runner import TaskRunner
from app.engine.drive.watch.progress import Doing
from tests.support.material.histories import SCHEMA, START_US
from tests.support.tasks.cores import new_core
from tests.support.tasks.runners import (
    GREEN,
    HOLD_RECORDS,
    VALUE,
    YELLOW,
    FakeWriter,
    LogEndsAsked,
    Registry,
    RegistryDownError,
    Turns,
    never,
    yellow,
)
from tests.support.tasks.task_batches import PARTITION, REQUESTS, batch_of, request

FOREIGN = 900
FOREIGN_VALUE = framing(FOREIGN) + VALUE[5:]
"""A ride that names a schema id of which the registry has not told yet."""


class World:
    """A runner with all that it tells, in the order in which it told it."""

    def __init__(self) -> None:
        self.writer, self.registry, self.told = FakeWriter(), Registry(), list[tuple[object, ...]]()
        self.news, self.budget, self.log_ends = asyncio.Event(), Turns(), LogEndsAsked()
        self.core = new_core(PARTITION)
        self.schemas = SchemaCache(self.registry.look_up, RegistryDownError)
        self.runner = TaskRunner(
            self.core,
            self.writer,  # type: ignore[arg-type]
            self.schemas,
            reread=never,
            ask_log_ends=self.log_ends,
            budget=self.budget,
            hold_records=HOLD_RECORDS,
            full=lambda topic: self.tell("full", topic),
            drained=lambda topic: self.tell("drained", topic),
            on_gap=lambda topic, offset: self.tell("gap", topic, offset),
            on_failure=lambda runner, error: self.tell("failed", runner, error),
        )

    def tell(self, *what: object) -> None:
        self.told.append(what)
        self.news.set()

    async def learn(self) -> None:
        """Let the worker know the rides' schema, as one that has been running does."""
        await self.schemas.having([SCHEMA.id])

    def offer(self, *batches: Batch) -> None:
        for batch in batches:
            self.runner.offer(batch, self._done(batch))

    def _done(self, batch: Batch) -> Callable[[], None]:
        name = ("done", batch.topic, batch.base_offset)
        return lambda: self.tell(*name, self.core.state.marker.inputs[batch.topic].next_offset)

    async def until(self, *what: object) -> None:
        """Until it is told something that begins so."""
        while not any(told[: len(what)] == what for told in self.told):
            self.news.clear()
            await self.news.wait()

    async def until_writing(self) -> None:
        await self.writer.begun.acquire()

    @property
    def cuts(self) -> list[dict[str, int]]:
        """Next offsets of the topics with records, per transaction written."""
        return [
            {topic: at for topic, at in transaction.marker.next_offsets.items() if at}
            for transaction in self.writer.written
        ]


@pytest.fixture
async def world(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A world whose runner is started; registries are asked again at once."""
    monkeypatch.setattr(schemas_module, "FIRST_WAIT_SECONDS", 0)
    world = World()
    world.runner.start()
    yield world
    await world.runner.stop(grace_seconds=0)


def green(base: int, count: int = 1) -> Batch:
    return batch_of(GREEN, [VALUE] * count, base=base)


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


async def test_tasks_that_share_a_worker_let_its_loop_go_between_their_steps() -> None:
    """Two steps that are ready at once: whatever else waits for the loop runs between them."""
    budget, seen = TransactionBudget(per_second=0), list[str]()

    async def step(name: str) -> None:
        async with budget.step():
            asyncio.get_running_loop().call_soon(seen.append, "others")
            seen.append(name)

    await asyncio.gather(step("one"), step("another"))
    assert seen == ["one", "others", "another", "others"]


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
    kept_up = list[int]()
    monkeypatch.setattr(world.core, "keep_up", lambda: kept_up.append(len(world.writer.written)))
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(yellow(1, 9 * HOLD_RECORDS))
    world.writer.let_go(10)
    await world.until("done", YELLOW, 1)
    assert kept_up[:3] == [4, 8, 10]


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

    world.core.plan_read = refuse  # type: ignore[assignment, method-assign]
    world.offer(yellow(0))
    await world.until("failed")
    assert isinstance(world.told[0][2], ValueError)
    assert [(batch.topic, batch.base_offset, batch.next_offset) for batch in world.runner.taken] == [(YELLOW, 0, 1)]
    assert await world.runner.stop(grace_seconds=30) is False


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

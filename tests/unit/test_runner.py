"""One task's loop: what it merges, when it says done, and how it ends. A fake writer stands for the broker."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from app.codecs.avro_decode import polars_panic
from app.engine import schemas as schemas_module
from app.engine.batch import Batch, Transaction
from app.engine.runner import TaskRunner
from app.engine.schemas import SchemaCache
from app.engine.writer import Fenced
from tests.agreement.test_worker_and_oracle import new_core
from tests.support.histories import SCHEMA, START_US, TOPIC_NAMES, encode
from tests.unit.test_task_core import PARTITION, REQUESTS, batch_of, request, ride

YELLOW, GREEN = TOPIC_NAMES[:2]
VALUE = encode(ride())
HOLD_RECORDS = 4


class RegistryDownError(Exception):
    """The registry cannot be reached."""


@dataclass
class FakeWriter:
    """Keeps what was committed; each write waits for its turn when `held`, and fails with `error` if there is one."""

    error: BaseException | None = None
    written: list[Transaction] = field(default_factory=list)
    begun: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    turns: asyncio.Semaphore | None = None
    stopped: bool = False

    def hold(self) -> None:
        """From now on every write hangs until `let_go`."""
        self.turns = asyncio.Semaphore(0)

    def let_go(self, writes: int = 1) -> None:
        assert self.turns is not None
        for _ in range(writes):
            self.turns.release()

    async def write(self, transaction: Transaction) -> int:
        self.begun.release()
        if self.turns is not None:
            await self.turns.acquire()
        if self.error is not None:
            raise self.error
        self.written.append(transaction)
        return 100 + len(self.written)

    async def stop(self) -> None:
        self.stopped = True


@dataclass
class Registry:
    """Answers look-ups; raises as often as it is told to first."""

    failures: int = 0
    asked: list[int] = field(default_factory=list)
    after_look_up: Callable[[], None] = lambda: None

    def look_up(self, schema_id: int) -> str | None:
        self.asked.append(schema_id)
        self.after_look_up()
        if self.failures:
            self.failures -= 1
            raise RegistryDownError("no route")
        return SCHEMA.text if schema_id == SCHEMA.id else None


class World:
    """A runner with all that it tells, in the order in which it told it."""

    def __init__(self) -> None:
        self.writer, self.registry, self.told = FakeWriter(), Registry(), list[tuple[object, ...]]()
        self.news = asyncio.Event()
        self.core = new_core(PARTITION)
        self.runner = TaskRunner(
            self.core,
            self.writer,  # type: ignore[arg-type]
            SchemaCache(self.registry.look_up, RegistryDownError),
            hold_records=HOLD_RECORDS,
            full=lambda topic: self.tell("full", topic),
            drained=lambda topic: self.tell("drained", topic),
            on_gap=lambda topic, offset: self.tell("gap", topic, offset),
            on_failure=lambda runner, error: self.tell("failed", runner, error),
        )

    def tell(self, *what: object) -> None:
        self.told.append(what)
        self.news.set()

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


def yellow(base: int, count: int = 1) -> Batch:
    return batch_of(YELLOW, [VALUE] * count, base=base)


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


async def test_merging_ends_at_the_largest_batch(world: World) -> None:
    """waiting: 3 + 3 + 1 records, 4 are enough: |3 + 3| and then |1|"""
    world.writer.hold()
    world.offer(green(0))
    await world.until_writing()
    world.offer(yellow(0, 3), yellow(3, 3), yellow(6))
    world.writer.let_go(3)
    await world.until("done", YELLOW, 6)
    assert world.cuts == [{GREEN: 1}, {GREEN: 1, YELLOW: 6}, {GREEN: 1, YELLOW: 7}]


async def test_topics_take_turns_and_never_share_a_transaction(world: World) -> None:
    world.writer.hold()
    world.offer(yellow(0))
    await world.until_writing()
    world.offer(green(0), yellow(1), green(1))
    world.writer.let_go(3)
    await world.until("done", YELLOW, 1)
    assert world.cuts == [{YELLOW: 1}, {YELLOW: 1, GREEN: 2}, {YELLOW: 2, GREEN: 2}]


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
    [Fenced("taken over"), ConnectionError("broker gone"), polars_panic("range end index out of range")],
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
    world.offer(asked, yellow(0), green(0))
    await world.until("done", GREEN)
    assert world.core.state.marker.inputs[REQUESTS].next_offset == 0
    world.offer(yellow(1))
    await world.until("done", REQUESTS)
    position = world.core.state.marker.inputs[YELLOW]
    assert position.next_offset == 2
    assert position.watermark_us == START_US + 10**15
    assert all(view.fates[YELLOW].late == 0 for view in world.core.state.marker.views.values())

"""The watch on progress and the watch on the loop: what they say, when, and what they end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from app.base.kafka.cluster import ClusterError
from app.domain.records import TopicPartition
from app.engine.drive.ending import ExitCode, Stalled, waits_of
from app.engine.drive.standing import Doing, GroupStanding, ProgressSample
from app.engine.drive.watch import loop_watch
from app.engine.drive.watch.liveness import Liveness
from app.engine.drive.watch.loop_watch import HeldTime, LoopWatch
from app.engine.drive.watch.progress import Cause

PLACE = TopicPartition("rides.yellow", 0)
SOON = 0.06


@dataclass
class FakeCluster:
    """Ends of logs that a test can move, or make unanswerable."""

    end: int = 10
    silent: bool = False

    def log_ends(self, places: Iterable[TopicPartition], *, committed: bool) -> dict[TopicPartition, int]:
        if self.silent:
            raise ClusterError("no answer")
        return dict.fromkeys(places, self.end)


@dataclass
class World:
    cluster: FakeCluster = field(default_factory=FakeCluster)
    position: int = 10
    doing: Doing = Doing.NOTHING
    ended: list[Stalled] = field(default_factory=list)
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def liveness(self, *, exit_seconds: float = 2 * SOON) -> Liveness:
        return Liveness(
            self.looks,
            self.cluster,  # type: ignore[arg-type]
            self.registry,
            stalled_seconds=SOON,
            exit_seconds=exit_seconds,
            end=self.end,
        )

    def looks(self) -> list[ProgressSample]:
        return [ProgressSample("rides", GroupStanding.READY, 0, {PLACE: self.position}, {PLACE: self.doing})]

    async def end(self, error: Stalled) -> None:
        self.ended.append(error)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.fixture
def world() -> World:
    return World()


async def test_a_stall_is_told_once_shown_and_ends_the_worker(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.cluster.end = 15
    async with world.liveness() as liveness:
        await until(lambda: liveness.dead)
        assert b'flagfall_stalled_seconds{cause="not_fetched",group="rides"} 0.' in generate_latest(world.registry)
        await until(lambda: world.ended)
    (error,) = world.ended
    assert "rides: rides.yellow-0 no progress" in str(error)
    assert "position 10, the log ends at 15" in str(error)
    assert [r.levelno for r in caplog.records].count(logging.WARNING) == 1


async def test_progress_ends_a_stall_and_says_so(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    world.cluster.end = 15
    async with world.liveness(exit_seconds=0) as liveness:
        await until(lambda: liveness.dead)
        world.position = 15
        await until(lambda: not liveness.stalls)
        assert liveness.dead is None
        await until(lambda: "rides: gets on again" in caplog.messages)
    assert world.ended == []


async def test_a_look_that_the_broker_leaves_unanswered_ends_no_stall(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world.cluster.end = 15
    async with world.liveness(exit_seconds=0) as liveness:
        await until(lambda: liveness.dead)
        world.cluster.silent = True
        await until(lambda: liveness.dead is None)
        world.cluster.silent = False
        await until(lambda: liveness.dead)
    assert not any("gets on again" in line for line in caplog.messages)
    assert sum("fetching gives none" in line for line in caplog.messages) == 1


async def test_waiting_for_another_is_told_and_never_ends_the_worker(world: World) -> None:
    world.cluster.end, world.doing = 15, Doing.ASKING_REGISTRY
    async with world.liveness() as liveness:
        await until(lambda: liveness.stalls and liveness.stalls[0].seconds > 5 * SOON)
        assert liveness.stalls[0].cause is Cause.REGISTRY
        assert liveness.dead is None
    assert world.ended == []


async def test_a_broker_that_does_not_answer_is_a_stall(world: World) -> None:
    world.cluster.silent = True
    async with world.liveness() as liveness:
        await until(lambda: world.ended)
        assert liveness.stalls[0].cause is Cause.BROKER_SILENT


async def test_a_held_loop_is_dumped_measured_and_forgiven(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loop_watch, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(loop_watch, "DUMP_SECONDS", 0.1)
    caplog.set_level(logging.INFO)
    registry = CollectorRegistry()
    async with LoopWatch(0, registry) as watch:
        await until(lambda: registry.get_sample_value("flagfall_loop_hold_seconds_count"))
        _hold(until_told=lambda: any("held for" in m for m in caplog.messages))
        await until(lambda: "the event loop runs again" in caplog.messages)
        assert watch.longest_hold_seconds >= 0.1
        assert registry.get_sample_value("flagfall_loop_longest_hold_seconds") == watch.longest_hold_seconds
    (dumped,) = [m for m in caplog.messages if "held for" in m]
    assert "_hold(until_told" in dumped


async def test_a_loop_held_too_long_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[tuple[ExitCode, str]] = []
    monkeypatch.setattr(loop_watch, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(loop_watch, "end_now", lambda code, why: ended.append((code, why)))
    async with LoopWatch(0.1, CollectorRegistry()):
        await asyncio.sleep(0)
        _hold(until_told=lambda: bool(ended))
    assert ended[0][0] is ExitCode.STALLED
    assert "held for" in ended[0][1]


async def test_an_idle_loop_is_watched_less_often_until_something_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    waits, now = list[float](), 0.0
    late = {60: 0.5}  # the first beats, 50 a second, are for one second; then come ten a second

    async def sleep(seconds: float) -> None:
        nonlocal now
        waits.append(seconds)
        now += seconds + late.get(len(waits), 0.0)
        if len(waits) == 120:
            raise asyncio.CancelledError

    monkeypatch.setattr(loop_watch, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(loop_watch, "time", SimpleNamespace(monotonic=lambda: now))
    watch = LoopWatch(0, CollectorRegistry())
    with pytest.raises(asyncio.CancelledError):
        await watch._beat()
    slow = [n for n, wait in enumerate(waits, 1) if wait == loop_watch.QUIET_BEAT_SECONDS]
    assert {*range(52, 61), *range(112, 121)} <= {*slow}
    assert not {*range(1, 50), *range(61, 110)} & {*slow}
    assert watch.longest_hold_seconds == pytest.approx(0.5)


def test_a_clock_that_jumped_while_the_process_was_stopped_counts_as_one_look() -> None:
    """looks at 0, 1, 2, then stopped until 900, 901"""
    held = HeldTime(2.0)
    assert [held.look(7, now) for now in (0, 1, 2, 900, 901)] == [0, 1, 2, 4, 5]


def test_a_sign_of_life_begins_anew() -> None:
    held = HeldTime(2.0)
    assert [held.look(sign, now) for sign, now in ((1, 0), (1, 1), (2, 2), (2, 3))] == [0, 1, 0, 1]


def _hold(until_told: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not until_told() and time.monotonic() < deadline:
        time.sleep(0.01)


async def test_what_a_loop_waits_for_is_told_by_place() -> None:
    async def inner() -> None:
        await asyncio.Event().wait()

    async def outer() -> None:
        await inner()

    tasks = [asyncio.create_task(outer()) for _ in range(3)]
    await asyncio.sleep(0)
    told = waits_of(asyncio.get_running_loop())
    assert "outer > " in told
    assert "inner > Event.wait, line " in told
    assert "(3 times)" in told
    for task in tasks:
        task.cancel()

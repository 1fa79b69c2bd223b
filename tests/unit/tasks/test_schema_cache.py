"""Schemas by id as a worker keeps them: known ones for ever, unknown ones for moments."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.engine.drive.kafka import schemas
from app.engine.drive.kafka.schemas import AT_ONCE, AT_ONCE_FOR_ONE, UNKNOWN_SECONDS, SchemaCache
from tests.support.asked_registry import AwayError, Registry


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1_000.0
        monkeypatch.setattr(schemas.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.usefixtures("clock")
async def test_a_known_id_is_asked_for_once() -> None:
    registry = Registry(7)
    cache = SchemaCache(registry.look_up, AwayError)
    for _ in range(3):
        found = (await cache.having([7]))[7]
        assert found is not None
        assert found.id == 7
    assert registry.asked == {7: 1}


async def test_an_id_that_is_unknown_today_is_asked_for_again_tomorrow(clock: Clock) -> None:
    """A damaged record that names an id must not spoil the schema that is given this id later."""
    registry = Registry()
    cache = SchemaCache(registry.look_up, AwayError)
    assert await cache.having([7]) == {7: None}
    registry.known.add(7)
    clock.now += UNKNOWN_SECONDS - 1
    assert await cache.having([7]) == {7: None}
    assert registry.asked == {7: 1}
    clock.now += 2
    assert (await cache.having([7]))[7] is not None


@pytest.mark.usefixtures("clock")
async def test_any_number_of_made_up_ids_is_forgotten_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schemas, "MOST_UNKNOWN", 100)
    cache = SchemaCache(Registry().look_up, AwayError)
    for begin in range(0, 300, 10):
        await cache.having(range(begin, begin + 10))
        assert len(cache._unknown_until) <= 100


@pytest.mark.usefixtures("clock")
async def test_tasks_that_meet_an_id_together_ask_for_it_once() -> None:
    registry = Registry(7)
    cache = SchemaCache(registry.look_up, AwayError)
    await asyncio.gather(*(cache.having([7, 8]) for _ in range(4)))
    assert registry.asked == {7: 1, 8: 1}


@pytest.mark.usefixtures("clock")
async def test_a_few_ids_are_asked_for_side_by_side_however_many_there_are() -> None:
    together, most, lock = 0, 0, threading.Lock()
    all_there = threading.Barrier(AT_ONCE)

    def look_up(_: int) -> None:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        all_there.wait(60)
        with lock:
            together -= 1

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * AT_ONCE))
    cache, tasks = SchemaCache(look_up, AwayError), 2 * AT_ONCE // AT_ONCE_FOR_ONE
    await asyncio.gather(*(cache.having(range(100 * task, 100 * task + 8)) for task in range(tasks)))
    assert most == AT_ONCE


async def test_a_task_with_a_thousand_ids_leaves_room_for_one_with_a_single_id() -> None:
    """Damaged records may name any number of ids, each of them to be asked for."""
    go_on, asked = threading.Event(), list[int]()

    def look_up(schema_id: int) -> None:
        asked.append(schema_id)
        if schema_id >= 1_000:
            go_on.wait(60)

    cache = SchemaCache(look_up, AwayError)
    many = asyncio.create_task(cache.having(range(1_000, 2_000)))
    try:
        async with asyncio.timeout(60):
            while len(asked) < AT_ONCE_FOR_ONE:
                await asyncio.sleep(0.005)
            assert await cache.having([7]) == {7: None}
        assert len(asked) == AT_ONCE_FOR_ONE + 1
        assert len(cache.awaited) == 1_000
    finally:
        go_on.set()
    assert set((await many).values()) == {None}
    assert cache.awaited == []

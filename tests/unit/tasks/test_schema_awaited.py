"""Schemas that the registry does not give at once: who waits, for how long, and who does not."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.codecs.avro.schema import WriterSchema
from app.engine.drive import logs
from app.engine.drive.kafka import schemas
from app.engine.drive.kafka.schemas import AT_ONCE, AT_ONCE_FOR_ONE, SchemaCache
from tests.support.asked_registry import AwayError, Registry
from tests.support.captured_log import Log


async def test_as_soon_as_one_question_is_answered_those_that_were_not_are_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After hours of outage nobody waits for the rest of a long pause."""
    registry = Registry(7, 8)
    registry.away = 1
    monkeypatch.setattr(schemas, "FIRST_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(schemas, "LONGEST_WAIT_SECONDS", 3_600.0)
    cache = SchemaCache(registry.look_up, AwayError)
    paused = asyncio.Event()

    async def until(answered: asyncio.Event, _: float) -> None:
        paused.set()
        await answered.wait()

    monkeypatch.setattr(SchemaCache, "_until", staticmethod(until))
    waiting = asyncio.create_task(cache.having([7]))
    async with asyncio.timeout(60):
        await paused.wait()
        assert (await cache.having([8]))[8] is not None
        assert (await waiting)[7] is not None
    assert registry.asked == {7: 2, 8: 1}


async def test_what_is_awaited_is_told_with_its_beginning_and_what_the_registry_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry = Registry(7)
    registry.away = 10**9
    monkeypatch.setattr(schemas.time, "time_ns", lambda: 1_000_000)
    cache = SchemaCache(registry.look_up, AwayError)
    waiting = [asyncio.create_task(cache.having(ids)) for ids in ([7, 8], [8])]
    async with asyncio.timeout(60):
        while not all(one.why for one in cache.awaited) or not cache.awaited:
            await asyncio.sleep(0.005)
    assert [(one.schema_id, one.since_us, one.why) for one in cache.awaited] == [
        (7, 1_000, "nobody is there"),
        (8, 1_000, "nobody is there"),
    ]
    waiting[0].cancel()  # its task went to another worker
    await asyncio.wait([waiting[0]])
    assert [one.schema_id for one in cache.awaited] == [8]
    waiting[1].cancel()
    await asyncio.wait([waiting[1]])
    assert cache.awaited == []


async def test_an_outage_with_thousands_of_new_ids_is_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    registry, ids = Registry(*range(2_000)), range(2_000)
    registry.away = 3_000
    monkeypatch.setattr(schemas, "FIRST_WAIT_SECONDS", 0.0)
    cache = SchemaCache(registry.look_up, AwayError)
    assert all((await cache.having(ids)).values())
    assert len(caplog.records) == 3_000
    log = Log()
    for second, record in enumerate(caplog.records[:90]):
        log.say(second, record)
    log.look(150)
    first, minute, end = log.shown
    assert first.startswith("2000 schema ids are waited for, ")
    assert minute.endswith("nobody is there (and 59 more of the kind in between)")
    assert end.startswith("not said any more, after 90 times in 89 s: app.engine.drive.kafka.schemas: 2000 schema ids")
    assert schemas.log.name in logs.REPEATING


async def test_while_the_registry_is_away_the_task_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(7)
    registry.away = 3
    monkeypatch.setattr(schemas, "FIRST_WAIT_SECONDS", 0.0)
    assert (await SchemaCache(registry.look_up, AwayError).having([7]))[7] is not None
    assert registry.asked == {7: 4}


@pytest.mark.parametrize("waiting", [1, AT_ONCE_FOR_ONE])
async def test_an_id_that_the_registry_fails_over_holds_up_nobody_who_needs_another(waiting: int) -> None:
    """A registry may answer 500 for one schema and 200 for the next."""
    failing = set(range(100, 100 + waiting))
    asked: set[int] = set()

    def look_up(schema_id: int) -> WriterSchema:
        asked.add(schema_id)
        if schema_id in failing:
            raise AwayError("500")
        return WriterSchema(schema_id, '"string"')

    cache = SchemaCache(look_up, AwayError)
    held_up = asyncio.create_task(cache.having(failing))
    async with asyncio.timeout(60):
        while asked != failing:
            await asyncio.sleep(0.005)
        assert (await cache.having([7]))[7] is not None
        assert not held_up.done()
        failing.clear()
        assert all((await held_up).values())


async def test_a_registry_that_is_slow_takes_no_thread_from_the_rest_of_the_worker() -> None:
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def look_up(_: int) -> None:
        begun.release()
        go_on.wait(60)

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(AT_ONCE))
    cache = SchemaCache(look_up, AwayError)
    waiting = asyncio.gather(*(cache.having(range(100 * task, 100 * task + 8)) for task in range(AT_ONCE)))
    try:
        async with asyncio.timeout(60):
            while not begun.acquire(blocking=False):
                await asyncio.sleep(0.005)
            assert await asyncio.to_thread(lambda: "answered") == "answered"
            assert not waiting.done()
            asking = [thread for thread in threading.enumerate() if thread.name == "registry"]
            assert asking
            assert all(thread.daemon for thread in asking)  # or the process would wait for them at its end
    finally:
        go_on.set()
    await waiting


async def test_a_schema_that_is_known_is_used_while_another_is_waited_for() -> None:
    registry = Registry(7)
    cache = SchemaCache(registry.look_up, AwayError)
    await cache.having([7])
    registry.away = 10**9
    waiting = asyncio.create_task(cache.having([8]))
    async with asyncio.timeout(60):
        while not registry.asked[8]:
            await asyncio.sleep(0.005)
        assert (await cache.having([7]))[7] is not None
    assert registry.asked[7] == 1
    assert (len(cache.awaited), waiting.done()) == (1, False)
    waiting.cancel()

"""Changes of a real worker's rows, taken beside a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from aiohttp import ClientSession, ClientTimeout

from tests.support.following.event_stream import events_of
from tests.support.following.follower import Follower, by_key
from tests.support.machine.workers import Worker


@contextmanager
def following(worker: Worker, address: str) -> Iterator[Callable[[list[Any]], bool]]:
    """Whether a client has come to these rows, that heard of changes only. What made it stop is raised at the end."""
    followers: list[Follower] = []

    async def follow() -> None:
        async with _follower(worker, address) as follower:
            followers.append(follower)
            while True:
                await follower.take()

    loop = asyncio.new_event_loop()
    taking = loop.create_task(follow())
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(loop.run_until_complete, taking)
        try:
            yield lambda rows: any(follower.rows == by_key(rows) for follower in followers)
        finally:
            loop.call_soon_threadsafe(taking.cancel)
            with suppress(asyncio.CancelledError):
                done.result()
            loop.close()


@asynccontextmanager
async def _follower(worker: Worker, address: str) -> AsyncIterator[Follower]:
    session = ClientSession(worker.url, timeout=ClientTimeout(total=None))
    async with session as client, events_of(client, address) as stream:
        yield Follower(stream)

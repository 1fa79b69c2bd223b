"""Folds go on beside the event loop, and nobody leaves one behind that still reads a state."""

from __future__ import annotations

import asyncio
import threading

import pytest

from app.engine.drive.folding_threads import FoldingThreads

LONG_SECONDS = 30.0


async def test_the_loop_goes_on_while_a_fold_runs() -> None:
    let_go = threading.Event()
    asyncio.get_running_loop().call_soon(let_go.set)
    assert await FoldingThreads().run(let_go.wait, timeout=LONG_SECONDS)


async def test_a_fold_that_is_cancelled_has_ended_before_whoever_asked_for_it() -> None:
    begun, let_go, ended = threading.Event(), threading.Event(), threading.Event()

    def fold() -> None:
        begun.set()
        let_go.wait(LONG_SECONDS)
        ended.set()

    asking = asyncio.create_task(FoldingThreads().run(fold))
    await asyncio.to_thread(begun.wait, LONG_SECONDS)
    asking.cancel()
    asyncio.get_running_loop().call_later(0.01, let_go.set)
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert ended.is_set()


async def test_what_a_fold_raises_is_raised_where_it_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        await FoldingThreads().run(divmod, 1, 0)


async def test_tasks_share_the_threads() -> None:
    """One thread, two folds: the second begins when the first has ended."""
    threads, seen = FoldingThreads(1), list[str]()

    def fold(name: str) -> None:
        seen.extend([f"{name} begins", f"{name} ends"])

    await asyncio.gather(threads.run(fold, "one"), threads.run(fold, "another"))
    assert seen == ["one begins", "one ends", "another begins", "another ends"]

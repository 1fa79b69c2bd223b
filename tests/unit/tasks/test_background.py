"""Work that nobody awaits: it is held until it ends, and what goes wrong in it is told."""

from __future__ import annotations

import ast
import asyncio
import gc
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.engine.drive import background

NEVER_DROPPED = {"create_task", "ensure_future", "run_coroutine_threadsafe"}


async def test_what_it_raises_is_told_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> None:
        raise ValueError("no such place")

    task = background.begin(failing(), "a look around")
    await asyncio.wait([task])
    (told,) = caplog.records
    assert (told.levelno, told.getMessage()) == (logging.ERROR, "a look around failed")
    assert told.exc_info is not None
    assert str(told.exc_info[1]) == "no such place"


async def test_it_is_held_until_it_ends() -> None:
    """Of a task that waits for what only it refers to, garbage is all that is left to a loop."""
    ended = asyncio.Event()

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    background.begin(waiting(), "waiting")
    await asyncio.sleep(0)
    gc.collect()
    assert not ended.is_set()
    (held,) = (task for task in asyncio.all_tasks() if task.get_name() == "waiting")
    held.cancel()
    await ended.wait()


async def test_one_that_is_cancelled_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    task = background.begin(asyncio.sleep(3600), "sleeping")
    task.cancel()
    await asyncio.wait([task])
    assert caplog.records == []


async def test_what_another_thread_began_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    seen = asyncio.Event()

    async def failing() -> None:
        seen.set()
        raise ValueError("no such place")

    loop = asyncio.get_running_loop()
    threading.Thread(target=background.begin_elsewhere, args=(failing(), loop, "ending")).start()
    await seen.wait()
    async with asyncio.timeout(60):
        while not caplog.records:
            await asyncio.sleep(0)
    assert [told.getMessage() for told in caplog.records] == ["ending failed"]


def _dropped(tree: ast.AST) -> Iterator[int]:
    """Lines of calls that begin something and leave its result."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            called = node.value.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            is_in_group = isinstance(called, ast.Attribute) and getattr(called.value, "id", "") in ("group", "asked")
            if name in NEVER_DROPPED and not is_in_group:
                yield node.lineno


def test_nothing_that_is_begun_is_dropped() -> None:
    """But in a `TaskGroup`, which holds its own."""
    files = Path(str(app.__file__)).parent.rglob("*.py")
    assert [(file.name, line) for file in files for line in _dropped(ast.parse(file.read_text()))] == []

"""A statement's process as its worker sees it: asked what it needs, given that, waited for, and ended in time."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from app.base.setting_groups import variable
from app.edge.sql.frames import Frame, encoded, receive

ENVIRONMENT = {
    "LC_ALL": "C.UTF-8",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
}
"""Nothing of the worker's own: its settings have passwords. Memory is bounded by addresses, so none are put by."""


SECONDS, MEMORY = variable("http_statement_seconds"), variable("http_statement_memory_mb")
"""Settings that bound a statement."""


FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that no process gives itself by what it does."""


class StatementRefused(Exception):
    """What a statement's process says against it."""


class StatementLost(Exception):
    """What became of a statement's process that ended by nothing that the statement did."""


@dataclass(frozen=True, slots=True)
class StatementAsked:
    """A statement, the tables that it may name, and within which bounds it is answered."""

    sql: str
    known: list[str]
    format: str
    memory_mb: int
    most_rows: int
    most_bytes: int
    seconds: float


class Statement:
    """A statement in its process."""

    def __init__(self, asked: StatementAsked, process: asyncio.subprocess.Process) -> None:
        self._asked, self._process = asked, process

    async def tables(self) -> list[str]:
        """Those that it reads. StatementRefused if it is not answered at all; StatementLost, here and below, if its
        process was ended."""
        await self._say(Frame(asdict(self._asked)))
        told: list[str] = (await self._told()).head["tables"]
        return told

    async def give(self, name: str, table: bytes) -> None:
        """A table that the statement reads, as an Arrow stream."""
        await self._say(Frame({"name": name}, table))

    async def answer(self, meta: dict[str, Any]) -> bytes:
        """The answer over the tables that were given, with that meta, of which statements may ask `as_of`."""
        await self._say(Frame({"meta": meta}))
        return (await self._told()).body

    async def _say(self, frame: Frame) -> None:
        assert self._process.stdin is not None
        with suppress(ConnectionError):  # it has ended; what it said before tells why
            self._process.stdin.write(encoded(frame))
            await self._process.stdin.drain()

    async def _told(self) -> Frame:
        assert self._process.stdout is not None
        try:
            told = await receive(self._process.stdout)
        except EOFError:
            raise StatementRefused(await self._ending()) from None
        if "refused" in told.head:
            raise StatementRefused(told.head["refused"])
        return told

    async def _ending(self) -> str:
        """Why the process ended without an answer. StatementLost if somebody else ended it, RuntimeError, with what it
        said last, if it failed by itself."""
        assert self._process.stderr is not None
        said, code = await self._process.stderr.read(), await self._process.wait()
        if code >= 0:
            raise RuntimeError(f"the process of a statement ended with {code}: {said.decode(errors='replace')}")
        if code == -signal.SIGXCPU:
            return f"it took more than {self._asked.seconds:g} s of a processor ({SECONDS})"
        name = signal.Signals(-code).name
        if -code in FROM_OUTSIDE:
            outside = "from outside: by hand, or where the machine has no memory left"
            raise StatementLost(f"The statement's process was ended by {name}, {outside}.")
        room = f"{self._asked.memory_mb} MB of memory ({MEMORY})"
        return f"it broke down, as a statement does that takes more than {room} (its process ended by {name})"


@asynccontextmanager
async def statement(asked: StatementAsked) -> AsyncIterator[Statement]:
    """In a process of its own, which has ended when this is left. StatementRefused where it takes too long."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "app.edge.sql.child"),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,  # a file would be out of its bounds
        env=ENVIRONMENT,
        start_new_session=True,
        limit=asked.most_bytes,
    )
    try:
        async with asyncio.timeout(asked.seconds) as deadline:
            yield Statement(asked, process)
    except TimeoutError:
        if not deadline.expired():
            raise
        raise StatementRefused(f"it was not answered within {asked.seconds:g} s ({SECONDS})") from None
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()

"""The process of a statement: how it is bounded, and what is said of its end."""

from __future__ import annotations

import resource
from pathlib import Path

import psutil
import pytest

from app.edge.sql import child
from app.edge.sql.process import StatementAsked, StatementRefused, statement


async def test_a_process_that_was_ended_from_outside_is_not_called_greedy() -> None:
    asked = StatementAsked("SELECT 1", [], "json", memory_mb=64, most_rows=1, most_bytes=1_000, seconds=600)
    async with statement(asked) as process:
        (of_statement,) = (one for one in psutil.Process().children() if "app.edge.sql.child" in one.cmdline())
        of_statement.kill()
        with pytest.raises(StatementRefused, match="ended by SIGKILL, from outside"):
            await process.tables()


def test_memory_is_bounded_where_there_is_no_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: dict[int, int] = {}

    def absent(path: Path, *_: object) -> str:
        raise FileNotFoundError(path)

    monkeypatch.setattr(Path, "read_text", absent)
    monkeypatch.setattr(child.resource, "setrlimit", lambda what, ends: set_to.update({what: ends[0]}))
    child._bound(64, 2)
    assert set_to[resource.RLIMIT_AS] > (64 + child.ROOM_MB) * child.MB

"""The process of one statement: it holds DuckDB, and nothing of the worker's; whatever the statement does ends with it.

    python -m app.edge.sql.child

On stdin come the statement, then the tables that it names, on stdout go these names, then the answer: `frames`.
"""

from __future__ import annotations

import os
import resource
import sys
from typing import BinaryIO

import psutil
import pyarrow as pa

from app.edge.sql.database import Database, RejectedStatement
from app.edge.sql.frames import Frame, encoded, read
from app.edge.sql.written import WRITTEN, Unwritable

KINDNESS = 10
"""Batches of the worker go first."""
DEEPEST = 20_000
"""Trees of statements are as deep as their longest expression, of which DuckDB bounds the terms."""
MB = 1 << 20
ROOM_MB = 256
"""For the answer while it is written, beside what DuckDB holds."""


def main() -> None:
    said, heard = sys.stdin.buffer, sys.stdout.buffer
    asked = read(said).head
    os.nice(KINDNESS)
    sys.setrecursionlimit(DEEPEST)
    try:
        database = Database(asked["memory_mb"])
        _say(heard, Frame({"tables": sorted(database.tables_of(asked["sql"], asked["known"]))}))
        while (given := read(said)).body:
            database.add(given.head["name"], pa.ipc.open_stream(given.body).read_all())
        database.set_as_of(given.head["meta"]["as_of"])
        _bound(asked["memory_mb"], asked["seconds"])
        answer = database.answer(asked["sql"], asked["most_rows"], asked["most_bytes"])
        told = given.head["meta"] | {"rows": answer.rows.num_rows, "cut": answer.cut}
        _say(heard, Frame({"answered": True}, WRITTEN[asked["format"]](answer.rows, told)))
    except (RejectedStatement, Unwritable) as refused:
        _say(heard, Frame({"refused": str(refused)}))
    except MemoryError:
        _say(heard, Frame({"refused": f"it takes more than {asked['memory_mb']} MB of memory"}))


def _say(heard: BinaryIO, frame: Frame) -> None:
    heard.write(encoded(frame))
    heard.flush()


def _bound(memory_mb: int, seconds: float) -> None:
    """From here on: memory beyond what is held already, processor time, and no file."""
    held = psutil.Process().memory_info().vms
    for what, most in (
        (resource.RLIMIT_AS, held + (memory_mb + ROOM_MB) * MB),
        (resource.RLIMIT_CPU, int(seconds) + 2),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main()

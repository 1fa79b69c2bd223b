"""The process of one statement: it holds DuckDB, and nothing of the worker's; whatever the statement does ends with it.

    python -m app.edge.sql.child

On stdin come the statement, then the tables that it names, on stdout go these names, then the answer: `frames`. When
stdin ends the worker is gone, and the process ends too.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
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


OPEN_FILES = Path("/dev/fd")
NO_NEW_PRIVILEGES = 38
"""PR_SET_NO_NEW_PRIVS of Linux' prctl."""


def main() -> None:
    _close_all_others()
    said, heard = SimpleQueue[Frame](), sys.stdout.buffer
    Thread(target=_listen, args=(said,), daemon=True).start()
    asked = said.get().head
    os.nice(KINDNESS)
    _renounce_privileges()
    sys.setrecursionlimit(DEEPEST)
    try:
        database = Database(asked["memory_mb"])
        _say(heard, Frame({"tables": sorted(database.tables_of(asked["sql"], asked["known"]))}))
        while (given := said.get()).body:
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


def _close_all_others() -> None:
    """What the worker has open, and uvloop leaves to those that it starts."""
    os.closerange(sys.stderr.fileno() + 1, max(int(one.name) for one in OPEN_FILES.iterdir()) + 1)


def _listen(said: SimpleQueue[Frame]) -> None:
    """Pass on what the worker says, until it is gone. DuckDB lets this thread run, whatever it does itself."""
    try:
        with open(sys.stdin.fileno(), "rb", closefd=False) as worker:  # of sys.stdin's own Python lets go as it ends
            while True:
                said.put(read(worker))
    finally:
        os._exit(os.EX_IOERR)


def _renounce_privileges() -> None:
    """On Linux: nothing that runs from here on gets more rights than this process has, as files can give them."""
    if sys.platform == "linux":
        on, *rest = map(ctypes.c_ulong, (1, 0, 0, 0))
        if ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, on, *rest):
            raise OSError("the system lets no process renounce new privileges")


def _say(heard: BinaryIO, frame: Frame) -> None:
    heard.write(encoded(frame))
    heard.flush()


def _bound(memory_mb: int, seconds: float) -> None:
    """From here on: memory beyond what is held already, processor time, and no file."""
    held, longest = psutil.Process().memory_info().vms, int(seconds) + 2
    for what, most in (
        (resource.RLIMIT_AS, held + (memory_mb + ROOM_MB) * MB),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (longest, longest + 1))  # SIGXCPU first, as SIGKILL tells no reason


if __name__ == "__main__":
    main()

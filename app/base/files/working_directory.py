"""Directories for what a process needs while it runs: gone at its end, and cleared by the next one after a KILL."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil

PREFIX, OWNER = "run-", "owner.json"


@contextlib.contextmanager
def working_directory(parent: Path) -> Iterator[Path]:
    """An empty directory below `parent`, of this process alone, removed at the end of the block, however it ends.

    What processes that are gone have left there is removed first. An owner is told by a lock on its file, which the
    system takes back when it dies; pid and start time stand in the file for whoever looks.
    """
    parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as owned:
        with (parent / ".lock").open("w") as gate:  # so that no directory is seen before its owner has locked it
            fcntl.flock(gate, fcntl.LOCK_EX)
            _remove_abandoned(parent)
            path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            owned.callback(shutil.rmtree, path, ignore_errors=True)
            owner = owned.enter_context((path / OWNER).open("w"))
            fcntl.flock(owner, fcntl.LOCK_EX)
        json.dump({"pid": os.getpid(), "started": psutil.Process().create_time()}, owner)
        owner.flush()
        yield path


def _remove_abandoned(parent: Path) -> None:
    for path in parent.glob(f"{PREFIX}*"):
        if not _is_owned(path):
            shutil.rmtree(path, ignore_errors=True)


def _is_owned(path: Path) -> bool:
    try:
        with (path / OWNER).open() as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False

"""One run of an application at a time: in its folder of runs, and in its history, wherever its runs are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from app.base.files.held_alone import HeldElsewhere, held_alone
from app.base.files.history import history_folder
from spark_batch.errors import AnotherRun


@contextmanager
def run_alone(output: Path, history: Path | None, application: str) -> Iterator[None]:
    """Makes both folders, the second if a history is to be kept, and holds them for this run. OSError where that
    cannot be, AnotherRun while another run holds one of them."""
    told_in = f"another run of {application} is told in {output}"
    locks = [(output / f".{application}.lock", told_in)]
    if (kept := history_folder(history, application)) is not None:
        locks.append((kept / ".lock", f"{kept}: another run is adding to this history"))
    with ExitStack() as held:
        for lock, words in locks:
            try:
                held.enter_context(held_alone(lock))
            except HeldElsewhere as error:
                raise AnotherRun(f"{words}; run it again when that has ended") from error
        yield

"""What a run says whose Java has no memory left, was ended by somebody, or failed at what it was asked for."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen, TimeoutExpired

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from app.base.setting_groups import variable
from spark_batch.errors import Inconclusive

OUT_OF_MEMORY = "OutOfMemoryError"
OUT_OF_MEMORY_CODE = 3
"""Java's exit code by -XX:+ExitOnOutOfMemoryError."""
ENDING_SECONDS = 10.0
"""A connection is gone a moment before its process is."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE)
"""Of a disk that is full, and of limits to what a process may write or hold open."""
ACCOUNT = re.compile(r"^(?:Caused by: |: |Exception in thread .+? )?((?:[\w$]+\.)*\w+(?:Exception|Error)\b.*)$")
"""The first line of what Java tells of a failure; of what caused it, last of all, it tells last."""
TRACE = "Trace:"
"""What Java's words follow in py4j's, where it refuses a question without an exception."""
NOTHING_SAID = "it said nothing"
MOST_READ = 1 << 20
MOST_LETTERS = 500


@contextmanager
def telling_of_its_end(memory_mb: int, log: Path, master: str | None = None) -> Iterator[None]:
    """Raises Inconclusive where Java had too little of `memory_mb`, ended or failed, or where there is no room to
    write; any other failure as it came. `log`: what Java prints; `master`: the cluster's that it drives, if it does.
    A process that was told to end says no more than that: what fails as it unwinds, beside a Java that was told so
    too, fails because of it."""
    try:
        yield
    except Exception as error:
        if (end := _told_to_end(error)) is not None:
            raise end from None
        told = _told(error, memory_mb, log) if isinstance(error, Py4JError | PySparkException | OSError) else None
        if told is None:
            raise
        of_cluster = "" if master is None else f" ({variable('spark_master')}={master})"
        raise Inconclusive(f"{told}{of_cluster}") from error


def _told_to_end(error: BaseException) -> SystemExit | KeyboardInterrupt | None:
    """What it was raised during."""
    before = error.__context__
    if before is None or isinstance(before, SystemExit | KeyboardInterrupt):
        return before
    return _told_to_end(before)


def java() -> Popen[bytes] | None:
    """The process that this one's Spark runs in; None before there is any."""
    gateway = SparkContext._gateway
    process: Popen[bytes] | None = None if gateway is None else gateway.proc
    return process


def lives() -> bool:
    """Whether Spark can be asked for anything."""
    process = java()
    return process is not None and process.poll() is None


def _told(error: Exception, memory_mb: int, log: Path) -> str | None:
    is_javas = not isinstance(error, OSError)
    if is_javas and not _is_cut_short(error) and lives():
        with suppress(Py4JError, ConnectionError):  # Java is asked for its text, and may end meanwhile
            text = str(error)
            return _too_little(memory_mb) if OUT_OF_MEMORY in text else _failed(_accounts(text)[-1], log)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        place = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"the run cannot keep what it reads: {place}{os.strerror(error.errno)}. Give it room, and run it again"
    code = _exit_code(java())
    if code is not None:
        return _too_little(memory_mb) if code == OUT_OF_MEMORY_CODE else _ended(code, log)
    return _failed(_logged(log), log) if is_javas else None


def _is_cut_short(error: Exception) -> bool:
    """Whether nothing of it is Java's: where an answer ends too soon, py4j tells a failure without a trace."""
    return isinstance(error, Py4JNetworkError) or (type(error) is Py4JError and TRACE not in str(error))


def _exit_code(process: Popen[bytes] | None) -> int | None:
    if process is None:
        return None
    try:
        return process.wait(ENDING_SECONDS)
    except TimeoutExpired:
        return None


def _logged(log: Path) -> str:
    """What failed first: what fails as Java ends comes last."""
    try:
        with log.open(errors="replace") as file:
            return _accounts(file.read(MOST_READ))[0]
    except OSError:
        return NOTHING_SAID


def _accounts(text: str) -> list[str]:
    """What it tells of failures, each by its first line; else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [found[1] for line in lines if (found := ACCOUNT.match(line))] or lines[-1:] or [NOTHING_SAID]


def _failed(words: str, log: Path) -> str:
    return f"Spark failed: {words[:MOST_LETTERS].rstrip('.')}. {log} has the rest; mend it, then run it again"


def _too_little(memory_mb: int) -> str:
    return (
        f"Spark had too little memory in {memory_mb} MB: give it more with {variable('spark_memory_mb')}, "
        "or check fewer views at a time with --view"
    )


def _ended(code: int, log: Path) -> str:
    by = f"by signal {-code}" if code < 0 else f"with {code}"
    return f"Spark's Java process ended {by}, not by this run: its last words are in {log}. Run it again"

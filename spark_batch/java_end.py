"""What a run says whose Java has no memory left, or was ended by somebody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen, TimeoutExpired

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext

from app.base.setting_groups import variable
from spark_batch.errors import Inconclusive

OUT_OF_MEMORY = "OutOfMemoryError"
OUT_OF_MEMORY_CODE = 3
"""Java's exit code by -XX:+ExitOnOutOfMemoryError."""
ENDING_SECONDS = 10.0
"""A connection is gone a moment before its process is."""


@contextmanager
def telling_of_its_end(memory_mb: int) -> Iterator[None]:
    """Raises Inconclusive where Java had too little of `memory_mb`, or ended; any other failure as it came."""
    try:
        yield
    except (Py4JError, ConnectionError) as error:
        told = _told(error, memory_mb)
        if told is None:
            raise
        raise Inconclusive(told) from error


def java() -> Popen[bytes] | None:
    """The process that this one's Spark runs in; None before there is any."""
    gateway = SparkContext._gateway
    process: Popen[bytes] | None = None if gateway is None else gateway.proc
    return process


def lives() -> bool:
    """Whether Spark can be asked for anything."""
    process = java()
    return process is not None and process.poll() is None


def _told(error: Exception, memory_mb: int) -> str | None:
    if isinstance(error, Py4JJavaError) and lives():
        with suppress(Py4JError, ConnectionError):  # Java is asked for its text, and may end meanwhile
            return _too_little(memory_mb) if OUT_OF_MEMORY in str(error) else None
    code = _exit_code(java())
    if code is None:
        return None
    return _too_little(memory_mb) if code == OUT_OF_MEMORY_CODE else _ended(code)


def _exit_code(process: Popen[bytes] | None) -> int | None:
    if process is None:
        return None
    try:
        return process.wait(ENDING_SECONDS)
    except TimeoutExpired:
        return None


def _too_little(memory_mb: int) -> str:
    return (
        f"Spark had too little memory in {memory_mb} MB: give it more with {variable('spark_memory_mb')}, "
        "or check fewer views at a time with --view"
    )


def _ended(code: int) -> str:
    by = f"by signal {-code}" if code < 0 else f"with {code}"
    return f"Spark's Java process ended {by}, not by this run: its last words are in logs/spark.log. Run it again"

"""A run whose Java is gone has no verdict, and says why; a failure of its own stays what it is."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError

from spark_batch.errors import Inconclusive
from spark_batch.java_end import java, lives, telling_of_its_end

TOLD = """An error occurred while calling o73.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times:
\tat org.apache.spark.errors.SparkCoreErrors$.(SparkCoreErrors.scala:1)
Caused by: org.apache.spark.SparkException: task failed
\t... 1 more
Caused by: java.io.IOException: No space left on device
\t... 2 more
"""
PRINTED = """26/11/23 17:00:01 ERROR Executor: Exception in task 0.0 in stage 3.0 (TID 3)
java.lang.ArithmeticException: long overflow
\tat java.base/java.lang.Math.multiplyExact(Math.java:1)
26/11/23 17:00:01 ERROR TaskSetManager: Task 0 in stage 3.0 failed 1 times; aborting job
"""


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """What stands for Java."""
    with subprocess.Popen(["sleep", "600"]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        yield process
        process.kill()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What Java printed."""
    file = tmp_path / "logs" / "spark.log"
    file.parent.mkdir()
    file.write_text(PRINTED)
    return file


def failing(error: Exception, *, memory_mb: int = 512, log: Path = Path("logs/spark.log")) -> None:
    """A step of a run that fails so."""
    with telling_of_its_end(memory_mb, log):
        raise error


class OfJava(Py4JError):  # type: ignore[misc]
    """An error whose text Java gives."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __str__(self) -> str:
        if self.text is None:
            raise Py4JNetworkError("Java is gone")
        return self.text


def test_java_that_somebody_killed_is_told_with_the_signal(living: subprocess.Popen[bytes]) -> None:
    assert (java(), lives()) == (living, True)
    living.kill()
    with pytest.raises(Inconclusive, match=r"ended by signal 9, not by this run: .* logs/spark\.log"):
        failing(ConnectionRefusedError())
    assert not lives()


def test_java_that_ended_for_want_of_memory_is_told_with_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen(["sh", "-c", "exit 3"]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        with pytest.raises(Inconclusive, match=r"too little memory in 700 MB: .* FLAGFALL_SPARK_MEMORY_MB"):
            failing(ConnectionResetError(), memory_mb=700)


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Error while sending or receiving"),
        Py4JError("An error occurred while calling o50.sc"),  # of an answer that is cut short
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    ],
)
def test_a_connection_that_is_lost_before_java_has_ended_is_told_by_its_end(
    living: subprocess.Popen[bytes], error: Exception
) -> None:
    """It goes a moment before its process does."""
    Timer(0.2, living.kill).start()
    assert lives()
    with pytest.raises(Inconclusive, match="ended by signal 9"):
        failing(error)


@pytest.mark.usefixtures("living")
def test_what_java_refuses_without_an_exception_is_told_in_its_words(log: Path) -> None:
    refused = "An error occurred while calling o50.sc. Trace:\npy4j.Py4JException: Method sc([]) does not exist\n"
    with pytest.raises(Inconclusive, match=r"^Spark failed: py4j\.Py4JException: Method sc\(\[\]\) does not exist\. "):
        failing(Py4JError(refused), log=log)


def test_a_failure_of_another_kind_is_not_taken_for_it(living: subprocess.Popen[bytes]) -> None:
    living.kill()
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())


def test_a_connection_that_fails_without_any_java_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    assert (java(), lives()) == (None, False)
    with pytest.raises(ConnectionRefusedError):
        failing(ConnectionRefusedError())


@pytest.mark.usefixtures("living")
def test_what_java_fails_at_is_told_by_what_failed_first_and_where_the_rest_is(log: Path) -> None:
    with pytest.raises(Inconclusive) as told:
        failing(OfJava(TOLD), log=log)
    assert str(told.value).startswith("Spark failed: java.io.IOException: No space left on device. ")
    assert str(log) in str(told.value)


def test_what_java_failed_at_is_told_by_its_log_once_it_cannot_be_asked(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    for error in (OfJava(None), PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})):
        with pytest.raises(Inconclusive, match=r"^Spark failed: java\.lang\.ArithmeticException: long overflow\. "):
            failing(error, log=log)
    log.write_text("Killed\n")
    with pytest.raises(Inconclusive, match="Spark failed: Killed"):
        failing(OfJava(None), log=log)
    with (
        pytest.raises(Inconclusive, match=r"\(FLAGFALL_SPARK_MASTER=spark://one:7077\)$"),
        telling_of_its_end(512, log, "spark://one:7077"),
    ):
        raise OfJava(None)
    log.unlink()
    with pytest.raises(Inconclusive, match="Spark failed: it said nothing"):
        failing(OfJava(None), log=log)


def test_a_place_without_room_is_told(log: Path) -> None:
    for number, words in ((errno.ENOSPC, "No space left on device"), (errno.EMFILE, "Too many open files")):
        with pytest.raises(Inconclusive, match=f"/copies/file: {words}"):
            failing(OSError(number, "", "/copies/file"), log=log)
    with pytest.raises(FileNotFoundError):
        failing(FileNotFoundError(errno.ENOENT, "", "/copies/file"), log=log)


@pytest.mark.parametrize("end", [SystemExit(143), KeyboardInterrupt()])
def test_a_process_that_was_told_to_end_says_nothing_of_what_fails_as_it_unwinds(
    end: BaseException, tmp_path: Path
) -> None:
    """As Java was told so, too, and the answers that were under way are cut short."""
    with pytest.raises(type(end)) as ended, telling_of_its_end(512, tmp_path / "spark.log"):
        _unwind(end)
    assert ended.value is end
    assert ended.value.__suppress_context__


def _unwind(end: BaseException) -> None:
    try:
        try:
            raise end
        finally:
            raise KeyError("p")
    finally:
        raise Py4JError("py4j does not exist in the JVM")

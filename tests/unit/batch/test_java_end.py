"""A run whose Java is gone has no verdict, and says why; a failure of its own stays what it is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from pyspark import SparkContext

from spark_batch.errors import Inconclusive
from spark_batch.java_end import java, lives, telling_of_its_end


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """What stands for Java."""
    with subprocess.Popen(["sleep", "600"]) as process:
        monkeypatch.setattr(SparkContext, "_gateway", SimpleNamespace(proc=process))
        yield process
        process.kill()


def failing(error: Exception, *, memory_mb: int = 512) -> None:
    """A step of a run that fails so."""
    with telling_of_its_end(memory_mb):
        raise error


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


def test_a_failure_of_another_kind_is_not_taken_for_it(living: subprocess.Popen[bytes]) -> None:
    living.kill()
    with pytest.raises(ZeroDivisionError):
        failing(ZeroDivisionError())


def test_a_connection_that_fails_without_any_java_is_not_taken_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    assert (java(), lives()) == (None, False)
    with pytest.raises(ConnectionRefusedError):
        failing(ConnectionRefusedError())

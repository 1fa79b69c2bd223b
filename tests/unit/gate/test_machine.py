"""What the gate finds on the machine, and what of it the tests see."""

from __future__ import annotations

import pytest

from scripts.gate.machine import (
    LEAST_PATIENCE,
    MOST_LANES,
    MOST_PATIENCE,
    environment_of_stages,
    environment_of_tests,
    lanes,
    patience,
    patience_of,
    slow_until,
)


def test_variables_that_change_the_product_do_not_reach_the_tests() -> None:
    environ = {
        "PATH": "/bin",
        "FLAGFALL_DATA_DIR": "/tmp",
        "FLAGFALL_TEST_TLC_DATA": "/data",
        "FLAGFALL_TEST_FAILPOINT": "commit",
        "OPENBLAS_CORETYPE": "Haswell",
        "https_proxy": "p",
        "PYTEST_ADDOPTS": "-x",
        "PYTHONOPTIMIZE": "1",
        "MAKEFLAGS": "i",
        "JAVA_TOOL_OPTIONS": "-Xmx1m",
        "JAVA_HOME": "/java",
        "FORCE_COLOR": "1",
        "TERM": "dumb",
    }
    left = {"PATH": "/bin", "FLAGFALL_TEST_TLC_DATA": "/data", "OPENBLAS_CORETYPE": "Haswell", "JAVA_HOME": "/java"}
    assert environment_of_tests(environ, 3.0) == left | {"FLAGFALL_TEST_PATIENCE": "3.0"}
    assert environment_of_stages(environ, asks_outside=True) == left | {"https_proxy": "p"}


def test_the_patience_of_the_gate_is_what_the_tests_get() -> None:
    assert environment_of_tests({"FLAGFALL_TEST_PATIENCE": "1"}, 6.0)["FLAGFALL_TEST_PATIENCE"] == "6.0"


@pytest.mark.parametrize("said", [None, ""])
def test_no_patience_that_is_asked_for_is_that_of_an_idle_machine(said: str | None) -> None:
    assert patience_of(said) == 1


@pytest.mark.parametrize("said", ["0", "-1", "nan", "inf", "1e-9", "2,5", "much"])
def test_a_patience_that_is_none_is_told_in_words(said: str) -> None:
    with pytest.raises(SystemExit, match="FLAGFALL_TEST_PATIENCE is"):
        patience_of(said)


@pytest.mark.parametrize("said", [None, ""])
def test_a_gate_without_limit_leaves_nothing_out(said: str | None) -> None:
    assert slow_until(said, now=1_000) == []


def test_slow_tests_begin_within_seven_tenths_of_the_limit() -> None:
    assert slow_until("10", now=1_000) == ["--slow-until=1420"]


@pytest.mark.parametrize("said", ["0", "-1", "nan", "inf", "1h"])
def test_a_limit_that_is_none_is_told_in_words(said: str) -> None:
    with pytest.raises(SystemExit, match="FLAGFALL_TEST_LIMIT_MINUTES is"):
        slow_until(said, now=1_000)


def test_patience_is_bounded() -> None:
    assert LEAST_PATIENCE <= patience() <= MOST_PATIENCE


@pytest.mark.parametrize(("gigabytes", "expected"), [(2, 1), (8, 2), (11, 2), (16, MOST_LANES), (512, MOST_LANES)])
def test_lanes_are_as_many_as_memory_holds(gigabytes: int, expected: int) -> None:
    assert lanes(gigabytes * 1_000_000_000) == expected

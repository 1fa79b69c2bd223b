"""The gate as a process: runs that break off, signals, a second gate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.machine.waiting import patient
from tests.support.played_gate import CHECKOUT, COLLECTED, Gate

CI_RUN = CHECKOUT / ".ci" / "run"
LATE = {"test": "t::late", "event": "failed", "phase": "call", "not_in_time": True, "error": "not within 5 s"}
ENDED = [{"test": test, "event": "ended"} for test in ("t::late", "t::other")]
PASSED = [{"test": "t::late", "event": "passed"}, {"test": "t::late", "event": "ended"}]


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_what_came_too_late_and_then_passes_is_green_and_flaky(gate: Gate) -> None:
    gate.plays(COLLECTED, LATE, *ENDED, code=1, again=([{"event": "collected", "tests": 1}, *PASSED], 0))
    code, said = gate.run()
    assert (code, "FLAKY: t::late" in said) == (0, True)


def test_a_run_that_ran_nothing_shows_what_pytest_said(gate: Gate) -> None:
    gate.plays(code=5, says="no tests ran in 0.01s")
    code, said = gate.run()
    assert (code, "no tests ran in 0.01s" in said[said.index("RED in tests") :]) == (20, True)


def test_a_green_gate_says_what_was_skipped(gate: Gate) -> None:
    gate.plays(COLLECTED, {"test": "t::late", "event": "skipped", "reason": "no Chromium"}, *ENDED, code=0)
    code, said = gate.run()
    assert (code, said.splitlines()[-2:]) == (0, ["gate: 1 of 2 tests were skipped: no Chromium", "gate: green"])


def test_what_ci_runs_tells_the_tests_that_it_is_ci_and_when_the_gate_is_ended(tmp_path: Path) -> None:
    """So a Chromium that is missing is red there, not skipped; and a slow machine leaves out tests, and is not red."""
    for name, program in (
        ("bin/python3", 'echo "CI=$CI $FLAGFALL_TEST_LIMIT_MINUTES $@"'),
        ("bin/chromium", "exit"),
        ("ci/run", CI_RUN.read_text()),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"#!/usr/bin/env bash\n{program}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    done = subprocess.run([tmp_path / "ci/run"], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "CI=true 86 -m scripts.gate\n"


@pytest.mark.parametrize("code", [0, 1, 3, -15, -9])
def test_a_run_that_broke_off_is_red_though_all_that_failed_came_too_late(gate: Gate, code: int) -> None:
    gate.plays(COLLECTED, LATE, ENDED[0], code=code, again=(PASSED, 0))
    told, said = gate.run()
    assert (told, "1 of 2 tests ran to their end" in said) == (20, True)


def test_what_is_skipped_the_second_time_is_red(gate: Gate) -> None:
    gate.plays(COLLECTED, LATE, *ENDED, code=1, again=([{"test": "t::late", "event": "ended"}], 0))
    assert gate.run()[0] == 20


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_gate_that_is_told_to_stop_says_where_it_was_and_keeps_the_logs(gate: Gate, number: signal.Signals) -> None:
    gate.plays_for_long()
    process = gate.start()
    child = gate.wait_for_tests()
    process.send_signal(number)
    said, _ = process.communicate(timeout=patient(60))
    assert process.returncode == 128 + number
    closing = said[said.rindex("gate: stopped") :].splitlines()
    assert closing == [
        f"gate: stopped by {number.name} in tests, exit code {128 + number}; everything is in build/ci",
        "  0 of 2 tests ran to their end",
        "  still running at the end: t::other",
    ]
    assert "gate: \n" not in said
    assert gate.kept()["exit_code"] == 128 + number
    assert [log.name for log in (gate.folder / "build" / "ci" / "logs").rglob("*.log")] == ["worker.log"]
    assert not child.is_running()
    gate.wait_until_nothing_is_left()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system ends a child with its parent")
def test_tests_end_with_a_gate_that_is_killed(gate: Gate) -> None:
    gate.plays_for_long()
    process = gate.start()
    child = gate.wait_for_tests()
    process.kill()
    psutil.wait_procs([child], timeout=patient(30))
    assert not child.is_running()
    gate.wait_until_nothing_is_left()


@pytest.mark.skipif(sys.platform != "linux", reason="no other system shows what a process has inherited")
def test_what_the_tests_left_running_is_ended_and_told(gate: Gate) -> None:
    gate.plays(COLLECTED, *ENDED, code=0, leaves=1)
    code, said = gate.run()
    gate.wait_until_nothing_is_left()
    assert (code, " sleep 600" in said) == (0, True)
    assert len(gate.kept()["stages"][0]["left_running"]) == 1


def test_two_gates_in_one_checkout_do_not_run_together(gate: Gate) -> None:
    gate.plays_for_long()
    gate.start()
    gate.wait_for_tests()
    code, said = gate.run()
    assert (code, "another gate runs in this checkout" in said) == (17, True)


def test_a_place_that_cannot_be_written_is_told_in_words(gate: Gate) -> None:
    (gate.folder / "build").write_text("a file")
    code, said = gate.run()
    assert (code, "Traceback" in said, "RED in the machine" in said) == (16, False, True)


def test_a_run_that_could_not_write_to_its_end_what_came_of_it_is_red_in_words(gate: Gate) -> None:
    gate.plays(COLLECTED, *ENDED, code=0, torn='{"test": "t::oth')
    code, said = gate.run()
    assert (code, "Traceback" in said) == (20, False)
    assert "build/ci/tests.jsonl breaks off within a line: is the disk full?" in said


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("screen", ["/dev/full", "closed", "nobody reads"])
def test_a_screen_that_takes_nothing_changes_no_verdict(gate: Gate, code: int, screen: str) -> None:
    gate.plays(COLLECTED, *([LATE | {"not_in_time": False}] if code else []), *ENDED, code=code)
    to = {"/dev/full": ">/dev/full", "closed": ">&-", "nobody reads": "| true; exit ${PIPESTATUS[0]}"}[screen]
    line = f"{sys.executable} -m scripts.gate tests {to}"
    done = subprocess.run(["bash", "-c", line], cwd=gate.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (20 * code, "")
    assert gate.kept()["exit_code"] == 20 * code


@pytest.mark.parametrize(("asked", "used"), [("6", "6.0"), ("", "")])
def test_who_asks_for_more_patience_gets_it(gate: Gate, asked: str, used: str) -> None:
    gate.plays(COLLECTED, *ENDED, code=0)
    code, said = gate.run(FLAGFALL_TEST_PATIENCE=asked)
    assert (code, f"gate: tests, patience {used}" in said) == (0, True)


def test_a_patience_that_is_no_number_is_told_before_anything_runs(gate: Gate) -> None:
    code, said = gate.run(FLAGFALL_TEST_PATIENCE="x")
    assert (code, said) == (2, "gate: FLAGFALL_TEST_PATIENCE is 'x': a number from 0.1 is wanted\n")


def test_wrong_usage_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.gate", "everything"], cwd=CHECKOUT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "python3 -m scripts.gate" in done.stderr

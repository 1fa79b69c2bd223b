"""Runs the gate.

    python3 -m scripts.gate             every stage, as CI does (`make check`)
    python3 -m scripts.gate tests       the tests alone, in an environment that is set up (`make test`)
    python3 -m scripts.gate tests -- -m unit      the same with arguments for pytest

Exit code 0: green. 2: asked for what there is not. 10 setup, 11 lint, 12 types, 13 imports, 14 jars, 15 collection,
20 tests: red there. 130 or 143: it was told to stop. 16: the machine would not (a full disk). 17: another gate runs in
this checkout.
Everything is in `build/ci`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from scripts.gate.machine import (
    LIMIT_VARIABLE,
    PATIENCE_VARIABLE,
    environment_of_stages,
    environment_of_tests,
    patience,
    patience_of,
    slow_until,
    strangers,
)
from scripts.gate.outcome import Outcome
from scripts.gate.stages import BEFORE_TESTS, TESTS_EXIT_CODE, run
from scripts.gate.tests_stage import TESTS, lanes, run_tests
from scripts.gate.verdict import read_told
from scripts.gate.words import broken_off, excerpt, nothing_ran, red_lines, skipped_lines

FOLDER = Path("build/ci")
LOCK = Path("build/ci.lock")
AGAIN = f"{TESTS}-again"
MACHINE_EXIT_CODE = 16
ANOTHER_EXIT_CODE = 17


class _Stopped(BaseException):
    """A signal told the gate to stop; its number."""


def main(arguments: list[str]) -> int:
    """The exit code."""
    given, for_pytest = _split(arguments)
    if given not in ([], ["tests"]):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        asked = patience_of(os.environ.get(PATIENCE_VARIABLE))
        for_pytest += slow_until(os.environ.get(LIMIT_VARIABLE), time.time())
    except SystemExit as wrong:
        print(f"gate: {wrong}", file=sys.stderr)
        return 2
    os.chdir(Path(__file__).parents[2])
    outcome = Outcome(FOLDER, strangers())
    try:
        with _alone() as alone:
            if not alone:
                print(f"gate: another gate runs in this checkout, and writes to {FOLDER}", file=sys.stderr)
                return ANOTHER_EXIT_CODE
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, _stop)
            shutil.rmtree(FOLDER, ignore_errors=True)
            FOLDER.mkdir()
            outcome.tell_strangers()
            return _run(outcome, for_pytest, asked, tests_alone=bool(given))
    except _Stopped as stopped:
        (number,) = stopped.args
        return outcome.stopped(signal.Signals(number).name, 128 + number, _unfinished())
    except OSError as error:
        return outcome.red(f"the machine: {error}", MACHINE_EXIT_CODE, _unfinished())


def _run(outcome: Outcome, for_pytest: list[str], asked: float, *, tests_alone: bool) -> int:
    for stage in () if tests_alone else BEFORE_TESTS:
        outcome.begin(stage.name)
        environment = environment_of_stages(os.environ, asks_outside=stage.asks_outside)
        outcome.ran.append(run(stage, FOLDER, environment))
        if outcome.ran[-1].code:
            again = f"  again: {' '.join(stage.command)}"
            return outcome.red(stage.name, stage.exit_code, [*excerpt(FOLDER / f"{stage.name}.log"), again])
    return _tests(outcome, for_pytest, max(patience(), asked))


def _tests(outcome: Outcome, for_pytest: list[str], waits: float) -> int:
    environment = environment_of_tests(os.environ, waits)
    outcome.begin(TESTS, f", patience {waits}")
    first, told = run_tests(TESTS, FOLDER, environment, *lanes(for_pytest))
    outcome.ran.append(first)
    if first.code == 0 and told.is_whole:
        return outcome.green(skipped_lines(told))
    chances = told.second_chances
    if not chances:
        lines = red_lines([*told.red, *(f for f in told.failures.values() if f.not_in_time)], waits)
        lines += [*broken_off(told, first.code, FOLDER), *nothing_ran(told, for_pytest)]
        return outcome.red(TESTS, TESTS_EXIT_CODE, lines)
    outcome.begin(AGAIN, f": {len(chances)} came too late and are tried once more, alone")
    again, told_again = run_tests(AGAIN, FOLDER, environment, *(f.test for f in chances))
    outcome.ran.append(again)
    if again.code or not told_again.have_passed(chances):
        failures = list(told_again.failures.values()) or chances
        return outcome.red("tests, the second time", TESTS_EXIT_CODE, red_lines(failures, waits))
    return outcome.green(
        [
            *(f"FLAKY: {f.test}: {f.error.splitlines()[0]} (its logs: build/ci/logs/tests)" for f in chances),
            *skipped_lines(told),
        ]
    )


def _unfinished() -> list[str]:
    """What the tests were at when the gate was stopped; nothing before they began."""
    with suppress(OSError):
        told = read_told((FOLDER / f"{TESTS}.jsonl").read_text().splitlines())
        return [*red_lines(list(told.failures.values()), patience()), *broken_off(told, None, FOLDER)]
    return []


def _stop(number: int, _: FrameType | None) -> None:
    for heard in (signal.SIGTERM, signal.SIGINT):
        signal.signal(heard, signal.SIG_IGN)  # once is enough: logs are kept now
    raise _Stopped(number)


@contextmanager
def _alone() -> Iterator[bool]:
    """Whether no other gate runs in this checkout, for as long as this one does."""
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

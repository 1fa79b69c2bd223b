"""Runs the gate.

    python3 -m scripts.gate             every stage, as CI does (`make check`)
    python3 -m scripts.gate tests       the tests alone, in an environment that is set up (`make test`)
    python3 -m scripts.gate tests -- -m unit      the same with arguments for pytest

Exit code 0: green. 10 setup, 11 lint, 12 types, 13 imports, 14 jars, 15 collection, 20 tests: red there.
Everything is in `build/ci`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from dataclasses import asdict
from pathlib import Path

from scripts.gate.machine import environment_of_tests, patience, strangers
from scripts.gate.stages import BEFORE_TESTS, TESTS_EXIT_CODE, Ran, run
from scripts.gate.tests_stage import lanes, run_tests
from scripts.gate.verdict import LINES, red_lines

FOLDER = Path("build/ci")
LOG_LINES = 15


def main(arguments: list[str]) -> int:
    """The exit code."""
    given, for_pytest = _split(arguments)
    if given not in ([], ["tests"]):
        print(__doc__, file=sys.stderr)
        return 2
    os.chdir(Path(__file__).parents[2])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that a stage is ended with us
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    ran: list[Ran] = []
    for stage in () if given else BEFORE_TESTS:
        print(f"\ngate: {stage.name}", flush=True)
        ran.append(run(stage, FOLDER))
        if ran[-1].code:
            log = (FOLDER / f"{stage.name}.log").read_text(errors="replace").splitlines()
            return _red(stage.name, stage.exit_code, ran, [*log[-LOG_LINES:], f"  again: {' '.join(stage.command)}"])
    return _tests(ran, for_pytest)


def _tests(ran: list[Ran], for_pytest: list[str]) -> int:
    waits = patience()
    print(f"\ngate: tests, patience {waits}", flush=True)
    for stranger in strangers():
        print(f"gate: runs here too: {stranger}", flush=True)
    environment = environment_of_tests(os.environ, waits)
    first, told = run_tests("tests", FOLDER, environment, *lanes(for_pytest))
    ran.append(first)
    if first.code == 0:
        return _green(ran, [])
    chances = told.second_chances
    if not chances:
        lines = red_lines([*told.red, *(f for f in told.failures.values() if f.not_in_time)])
        hung = [f"  still running at the end: {test}" for test in told.running[:4]]
        return _red("tests", TESTS_EXIT_CODE, ran, [*lines, *hung] or ["  pytest itself failed: build/ci/tests.log"])
    print(f"\ngate: {len(chances)} came too late and are tried once more, alone", flush=True)
    again, told_again = run_tests("tests-again", FOLDER, environment, *(f.test for f in chances))
    ran.append(again)
    if again.code:
        failures = list(told_again.failures.values()) or chances
        return _red("tests, the second time", TESTS_EXIT_CODE, ran, red_lines(failures))
    flaky = [f"FLAKY: {f.test}: {f.error.splitlines()[0]} (its logs: build/ci/logs/tests)" for f in chances]
    return _green(ran, flaky)


def _green(ran: list[Ran], flaky: list[str]) -> int:
    _keep("green", 0, ran, flaky)
    print("\n".join(["", _times(ran), *flaky, "gate: green"]), flush=True)
    return 0


def _red(where: str, code: int, ran: list[Ran], lines: list[str]) -> int:
    _keep(where, code, ran, lines)
    told = ["", _times(ran), f"gate: RED in {where}, exit code {code}; everything is in {FOLDER}", *lines]
    print("\n".join(told[: LINES + 1]), flush=True)
    return code


def _times(ran: list[Ran]) -> str:
    return "gate: " + ", ".join(f"{r.name} {r.wall_seconds:.0f} s ({r.processor_seconds:.0f} s cpu)" for r in ran)


def _keep(verdict: str, code: int, ran: list[Ran], lines: list[str]) -> None:
    summary = {"verdict": verdict, "exit_code": code, "stages": [asdict(r) for r in ran], "lines": lines}
    (FOLDER / "gate.json").write_text(json.dumps(summary, indent=2) + "\n")


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

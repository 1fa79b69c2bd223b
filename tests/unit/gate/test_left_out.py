"""Which tests a gate with a limit leaves out: slow ones that have not begun in time, and no others."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.played_gate import CHECKOUT

SLOW = "tests/batch/test_place_of_java.py"
SLOW_BY_SPARK = "tests/agreement/test_rules_of_cleanliness.py::test_spark_says_of_every_ride_what_the_naive_fold_says"
FAST = "tests/unit/gate/test_stages.py"
LONG_AGO, IN_A_THOUSAND_YEARS = 1, 33_000_000_000


def test_slow_tests_that_have_not_begun_in_time_are_left_out_and_no_others() -> None:
    assert _left_out(LONG_AGO, SLOW, SLOW_BY_SPARK, FAST) == 2


def test_slow_tests_run_in_time() -> None:
    assert _left_out(IN_A_THOUSAND_YEARS, SLOW) == 0


def _left_out(until: int, *tests: str) -> int:
    """How many, where tests are not run but planned."""
    command = [sys.executable, "-m", "pytest", "--setup-plan", f"--slow-until={until}", *tests]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert "\ncollected " in done.stdout, done.stdout + done.stderr
    return sum(int(count) for count in re.findall(r"SKIPPED \[(\d+)\].*left out for want of time", done.stdout))

"""The lines that a gate ends with: what failed and why, how far tests came, what they skipped, what a log says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from scripts.gate.verdict import Failure, Told

LINES = 30
"""Of the last words of a red gate."""
FIRST_LINES = 8
LAST_LINES = 12


def excerpt(log: Path) -> list[str]:
    """Where the log is, and of a long one its beginning, which the first error is near, and its end."""
    lines = log.read_text(errors="replace").splitlines()
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if left_out > 0:
        lines[FIRST_LINES:-LAST_LINES] = [f"  ... {left_out} lines more ..."]
    return [*lines, f"  all of it: {log}"]


def broken_off(told: Told, code: int) -> list[str]:
    """How far the tests came, if not to their end."""
    if told.is_whole and told.failures:
        return []
    there = "?" if told.collected is None else told.collected
    lines = [f"  {len(told.ended)} of {there} tests ran to their end; pytest ended with {code}: build/ci/tests.log"]
    if told.is_torn:
        lines.append("  build/ci/tests.jsonl breaks off within a line: is the disk full?")
    return [*lines, *(f"  still running at the end: {test}" for test in told.running[:4])]


def red_lines(failures: Sequence[Failure], patience: float) -> list[str]:
    """The first of them in three lines each: which, why, and the command that repeats it."""
    shown = failures[: (LINES - 10) // 3]
    lines = [
        line
        for failure in shown
        for line in (
            f"  {failure.test}",
            f"    {failure.error.splitlines()[0] if failure.error else 'without words'}",
            f"    again: FLAGFALL_TEST_PATIENCE={patience} .venv/bin/pytest '{failure.test}'",
        )
    ]
    more = len(failures) - len(shown)
    return [*lines, f"  and {more} more, in build/ci/tests.log"] if more else lines


def skipped_lines(told: Told) -> list[str]:
    """A line for each reason, the most frequent first."""
    reasons = Counter(told.skipped.values()).most_common()
    return [f"gate: {count} of {told.collected} tests were skipped: {reason}" for reason, count in reasons]

"""The lines that a gate ends with: what failed and why, how far tests came, what they skipped, what a log says."""

from __future__ import annotations

import shlex
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


def broken_off(told: Told, code: int | None, folder: Path) -> list[str]:
    """How far the tests came, if not to their end. `code`: pytest's, unless the gate was stopped."""
    if told.is_whole and told.failures:
        return []
    there = "?" if told.collected is None else told.collected
    ended = "" if code is None else f"; pytest ended with {code}"
    lines = [f"  {len(told.ended)} of {there} tests ran to their end{ended}"]
    if told.is_torn:
        lines.append(f"  {folder}/tests.jsonl breaks off within a line: is the disk full?")
    lines += [f"  still running at the end: {test}" for test in told.running[:4]]
    return lines if code is None or told.failures else [*lines, *excerpt(folder / "tests.log")]


def nothing_ran(told: Told, arguments: Sequence[str]) -> list[str]:
    """The command that says why no test ran: a lane keeps to itself what it has against its arguments."""
    asked = shlex.join(("--collect-only", "-qq", *arguments))
    return [] if told.ended or told.failures else [f"  why nothing ran: .venv/bin/pytest {asked}"]


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

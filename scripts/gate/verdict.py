"""What a run of tests came to, from what it told: which failed, which of them may be tried again, which still ran."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

MOST_SECOND_CHANCES = 3
LINES = 30
"""Of the last words of a red gate."""


@dataclass(frozen=True)
class Failure:
    """A test that failed. `not_in_time`: it waited in vain on real parts, and compared nothing that differs."""

    test: str
    error: str
    not_in_time: bool


@dataclass
class Told:
    """Of one run of tests."""

    failures: dict[str, Failure] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    """Begun and not ended, in this order: where a run that was ended hung."""

    @property
    def red(self) -> list[Failure]:
        """Those that make the gate red at once."""
        return [f for f in self.failures.values() if not f.not_in_time]

    @property
    def second_chances(self) -> list[Failure]:
        """Those that are tried once more; none if anything is red already, or if they are too many for chance."""
        waited = [f for f in self.failures.values() if f.not_in_time]
        return waited if not self.red and len(waited) <= MOST_SECOND_CHANCES else []


def read_told(lines: Iterable[str]) -> Told:
    """The facts of a run, from its JSON lines. A test's first failure counts, and red wins over not in time."""
    told = Told()
    for line in lines:
        facts = json.loads(line)
        test = facts["test"]
        if facts["event"] == "began":
            told.running.append(test)
        elif facts["event"] == "ended" and test in told.running:
            told.running.remove(test)
        elif facts["event"] == "failed":
            found = Failure(test, facts["error"], facts["not_in_time"])
            known = told.failures.get(test)
            if known is None or (known.not_in_time and not found.not_in_time):
                told.failures[test] = found
    return told


def red_lines(failures: Sequence[Failure]) -> list[str]:
    """The first of them in three lines each: which, why, and the command that repeats it."""
    shown = failures[: (LINES - 10) // 3]
    lines = [
        line
        for failure in shown
        for line in (
            f"  {failure.test}",
            f"    {failure.error.splitlines()[0] if failure.error else 'without words'}",
            f"    again: .venv/bin/pytest '{failure.test}'",
        )
    ]
    more = len(failures) - len(shown)
    return [*lines, f"  and {more} more, in build/ci/tests.log"] if more else lines

"""What a run of tests came to, from what it told: which failed, which of them may be tried again, which still ran."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_SECOND_CHANCES = 3
CRASHED = "???"
"""What xdist calls the phase of a test that took its process with it. Such a test is begun again in the next one."""


@dataclass(frozen=True)
class Failure:
    """A test that failed. `not_in_time`: it waited in vain on real parts, and compared nothing that differs."""

    test: str
    error: str
    not_in_time: bool
    phase: str = "call"


@dataclass
class Told:
    """Of one run of tests."""

    failures: dict[str, Failure] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    """Begun and not ended, in this order: where a run that was ended hung."""
    passed: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    skipped: dict[str, str] = field(default_factory=dict)
    """With the reason."""
    collected: int | None = None
    is_torn: bool = False
    """Whether a line was not written to its end; nothing is known of what came after."""

    @property
    def is_whole(self) -> bool:
        """Whether every test that there is has run to its end."""
        return self.collected == len(self.ended) and not self.is_torn

    @property
    def red(self) -> list[Failure]:
        """Those that make the gate red at once."""
        return [f for f in self.failures.values() if not f.not_in_time]

    @property
    def second_chances(self) -> list[Failure]:
        """Those that are tried once more; none if anything is red already, if a test has not run, or if their causes
        are too many for chance. A fixture that fails once fails with the same words for each test that needs it.
        """
        waited = [f for f in self.failures.values() if f.not_in_time]
        causes = {f.error if f.phase == "setup" else f.test for f in waited}
        return waited if self.is_whole and not self.red and len(causes) <= MOST_SECOND_CHANCES else []

    def have_passed(self, tests: Iterable[Failure]) -> bool:
        """Whether these have run and nothing of them failed."""
        return all(one.test in self.passed and one.test not in self.failures for one in tests)


def read_told(lines: Iterable[str]) -> Told:
    """The facts of a run, from its JSON lines. A test's first failure counts, and red wins over not in time."""
    told = Told()
    for line in lines:
        try:
            facts = json.loads(line)
        except json.JSONDecodeError:
            told.is_torn = True
            break
        event, test = facts["event"], facts.get("test", "")
        if event == "collected":
            told.collected = facts["tests"]
        elif event == "began":
            told.running = [*_without(test, told.running), test]
        elif event == "ended":
            told.ended.add(test)
            told.running = _without(test, told.running)
        elif event == "passed":
            told.passed.add(test)
        elif event == "skipped":
            told.skipped[test] = facts["reason"]
        elif event == "failed":
            found = Failure(test, facts["error"], facts["not_in_time"], facts["phase"])
            if found.phase == CRASHED:
                told.running = _without(test, told.running)
            known = told.failures.get(test)
            if known is None or (known.not_in_time and not found.not_in_time):
                told.failures[test] = found
    return told


def _without(test: str, running: Iterable[str]) -> list[str]:
    return [one for one in running if one != test]

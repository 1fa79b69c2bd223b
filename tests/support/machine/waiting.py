"""Waiting for a condition: as long as this machine may need, and a failure of its own kind where it does not come.

`FLAGFALL_TEST_PATIENCE` scales every wait, session timeout and limit of the tests: 1 fits an idle machine of two
cores, the gate sets 2 and more (`scripts/gate`). Nothing is asserted about how long something took.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from scripts.gate.machine import PATIENCE_VARIABLE, patience_of

WAIT_SECONDS = 120.0
ASK_AGAIN_SECONDS = 0.05
LAST_WORDS = 3_000


class NotInTime(AssertionError):
    """Something has not come in time: not started, not reachable, not done. It says nothing of any figure.

    The only failure that the gate tries once more. What was compared and differs is never raised as this.
    """


class Started(Protocol):
    """A process that something is expected of."""

    log: Path

    def broke(self) -> str:
        """How it ended, if nobody has told it to; else nothing."""


PATIENCE = patience_of(os.environ.get(PATIENCE_VARIABLE))


def patient(seconds: float) -> float:
    """So many seconds on an idle machine, as many more on this one as it is granted."""
    return seconds * PATIENCE


def wait_for(
    condition: Callable[[], bool], what: str, started: Sequence[Started] = (), seconds: float = WAIT_SECONDS
) -> None:
    """Ask until it holds; NotInTime with the processes' last words if it does not within `patient(seconds)`.

    Where one of them has ended by itself it is no matter of time: a plain AssertionError.
    """
    asked = time.monotonic()
    deadline = asked + patient(seconds)
    while not condition():
        answered = time.monotonic()
        if answered > deadline:
            broken = " ".join(filter(None, (one.broke() for one in started)))
            fault = AssertionError if broken else NotInTime
            raise fault(f"not within {patient(seconds):.0f} s: {what}. {broken}\n{last_words(started)}")
        time.sleep(max(ASK_AGAIN_SECONDS, answered - asked))  # a question that is dear is asked half of the time
        asked = time.monotonic()


def last_words(started: Sequence[Started]) -> str:
    """The ends of their logs."""
    return "\n".join(f"--- {one.log.name}\n{one.log.read_text(errors='replace')[-LAST_WORDS:]}" for one in started)

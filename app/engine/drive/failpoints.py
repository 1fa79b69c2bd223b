"""Places at which a drill can end, stop or upset a worker; none is armed unless FLAGFALL_TEST_FAILPOINT names one.

`FLAGFALL_TEST_FAILPOINT=transaction-committed:kill:3` kills the process with SIGKILL when it passes that place for the
third time. Actions: `kill`; `stop` (SIGSTOP: a zombie, if somebody continues it later); `raise` (an exception). The
third part, by default 1, counts passings of the process; each fires once. docs/drills.md lists the drills.
"""

from __future__ import annotations

import logging
import os
import signal
from dataclasses import dataclass
from typing import Final

from app.base.settings import SettingsError

log = logging.getLogger(__name__)

VARIABLE: Final = "FLAGFALL_TEST_FAILPOINT"

TASK_FENCING = "task-fencing"
"""In a take-over: the group has accepted the worker, the former owner is not fenced yet."""
TASK_FENCED = "task-fenced"
"""In a take-over: fenced, the changelog not read yet."""
BATCH_OFFERED = "batch-offered"
"""In the agent, before its batch is taken."""
BATCH_TAKEN = "batch-taken"
"""In the task's loop, before the batch is planned."""
TRANSACTION_BEGUN = "transaction-begun"
TRANSACTION_HALF_SENT = "transaction-half-sent"
"""Half of the changelog's records are on the broker, without the marker."""
TRANSACTION_SENT = "transaction-sent"
"""All records are on the broker; the commit has not been asked for."""
TRANSACTION_COMMITTED = "transaction-committed"
"""Committed; neither the state nor Faust knows it yet."""
BATCH_APPLIED = "batch-applied"
"""The state has been swapped in; Faust has not been told, so the group's offsets are behind."""

NAMES: Final = (
    TASK_FENCING,
    TASK_FENCED,
    BATCH_OFFERED,
    BATCH_TAKEN,
    TRANSACTION_BEGUN,
    TRANSACTION_HALF_SENT,
    TRANSACTION_SENT,
    TRANSACTION_COMMITTED,
    BATCH_APPLIED,
)
ACTIONS: Final = ("kill", "stop", "raise")


class FailpointReached(RuntimeError):
    """Raised on purpose by the action `raise`: what any mistake in an agent or in the engine would look like."""


@dataclass
class Failpoint:
    """One place that is armed; `passings_left` until it fires."""

    name: str
    action: str
    passings_left: int

    @classmethod
    def parse(cls, text: str) -> Failpoint:
        """`name:action[:passing]`; SettingsError for a name or action that does not exist."""
        name, action, passing = (*text.split(":"), "1")[:3] if text.count(":") in (1, 2) else (text, "", "")
        if name not in NAMES or action not in ACTIONS or not passing.isdigit() or int(passing) < 1:
            raise SettingsError(
                f"{VARIABLE}={text}: expected NAME:ACTION[:PASSING] with a name of {', '.join(NAMES)}, "
                f"an action of {', '.join(ACTIONS)}, and a passing of 1 or more"
            )
        return cls(name, action, int(passing))

    def is_due(self, name: str) -> bool:
        """Whether the next passing of `name` fires."""
        return name == self.name and self.passings_left == 1

    def reached(self, name: str) -> None:
        """Count a passing, and act if it is the one."""
        if name != self.name:
            return
        self.passings_left -= 1
        if self.passings_left == 0:
            self._act()

    def _act(self) -> None:
        log.warning("fail-point %s: %s", self.name, self.action)
        if self.action == "raise":
            raise FailpointReached(f"fail-point {self.name}")
        for handler in logging.getLogger().handlers:
            handler.flush()
        os.kill(os.getpid(), signal.SIGKILL if self.action == "kill" else signal.SIGSTOP)


_armed = Failpoint.parse(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None


def is_due(name: str) -> bool:
    """Whether the next passing of `name` fires, for a place that has to be prepared."""
    return _armed is not None and _armed.is_due(name)


def reached(name: str) -> None:
    """To be called at the place: nothing happens unless it is armed."""
    if _armed is not None:
        _armed.reached(name)

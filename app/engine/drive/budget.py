"""How many transactions the tasks of a worker begin in a second.

A transaction costs worker and broker about the same whether it holds one record or a thousand. Many quiet tasks would
spend a core on small ones; so they take turns, and what comes to a task while it waits goes along with its next one.
"""

from __future__ import annotations

import asyncio
import math
import time

from app.base.setting_groups import WorkerSettings, variable
from app.domain.errors import FlagfallError

BURST_SECONDS = 0.1
"""Turns that nobody took in this time are not lost: tasks whose records come at once need not wait for each other."""
GATHER_SECONDS = 0.003
"""Shortest wait for a turn: what was fetched together comes to a task one topic after the other, within 2 ms."""


class TurnsTooRare(FlagfallError):
    """A task's turn would come when it counts as stalled already. The message says what to set."""


def require_turns(worker: WorkerSettings, tasks: int) -> None:
    """TurnsTooRare unless each of the tasks has a turn within the time after which it counts as stalled."""
    per_second, stalled_seconds = worker.transactions_per_second, worker.stalled_seconds
    if per_second == 0 or tasks <= per_second * stalled_seconds:
        return
    owned = f"{tasks} task{'' if tasks == 1 else 's'}"
    least = math.ceil(1000 * tasks / stalled_seconds) / 1000
    raise TurnsTooRare(
        f"{variable('worker_transactions_per_second')}={per_second:g} gives each of {owned}, which one worker may have "
        f"to own, a turn in {tasks / per_second:g} s, and after {variable('worker_stalled_seconds')}="
        f"{stalled_seconds:g} a task counts as stalled: set at least {least:g}, or 0 for as many as there are"
    )


class TransactionBudget:
    """Turns, in the order in which they were asked for. `per_second` 0: whoever asks may go on at once."""

    def __init__(self, per_second: float) -> None:
        self._interval_seconds = 1 / per_second if per_second else 0.0
        self._last_turn = float("-inf")

    def reserve(self, now_seconds: float) -> float:
        """Take the next turn; gives the seconds until it comes."""
        earliest = now_seconds - BURST_SECONDS if self._interval_seconds else now_seconds
        self._last_turn = max(self._last_turn + self._interval_seconds, earliest)
        return max(0.0, self._last_turn - now_seconds)

    async def turn(self) -> None:
        """Take the next turn, and wait for it, and for what is on its way."""
        await asyncio.sleep(max(GATHER_SECONDS, self.reserve(time.monotonic())))

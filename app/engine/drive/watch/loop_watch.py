"""Watches the event loop from a thread: how long it is held, and by what.

While the loop is held no query is answered, no batch is taken and no signal is heard. Nothing on the loop can tell.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time

import mode
from prometheus_client import CollectorRegistry, Gauge, Histogram

from app.engine.drive import background
from app.engine.drive.ending import ExitCode, end_now, main_stack

log = logging.getLogger(__name__)

BEAT_SECONDS, QUIET_BEAT_SECONDS = 0.02, 0.1
"""Between two beats; the latter once none has been late for a second, as fifty of them cost as much as all else."""
LATE_SECONDS, QUIET_AFTER_SECONDS = 0.002, 1.0
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
LOOK_SECONDS = 0.25
DUMP_SECONDS = 2.0
"""A loop that is held for so long has its stack written into the log, once for each time."""


class HeldTime:
    """How long something has been without a sign of life, in the time in which this process ran.

    A process that was stopped, or a machine that slept, wakes with a clock that has jumped: such a jump is one look.
    """

    def __init__(self, longest_look_seconds: float) -> None:
        self._longest = longest_look_seconds
        self._sign, self._at, self.seconds = 0, 0.0, 0.0

    def look(self, sign: int, now_seconds: float) -> float:
        """Seconds since `sign` last changed, as seen at looks."""
        elapsed = min(now_seconds - self._at, self._longest)
        self.seconds = 0.0 if sign != self._sign else self.seconds + elapsed
        self._sign, self._at = sign, now_seconds
        return self.seconds


class LoopWatch(mode.Service):
    """Beats on the loop and listens in a thread. A loop held for `exit_seconds` (0: never) ends the process."""

    def __init__(self, exit_seconds: float, registry: CollectorRegistry) -> None:
        super().__init__()
        self._exit_seconds = exit_seconds
        self._holds = Histogram(
            "flagfall_loop_hold_seconds", "How late the event loop came to a beat.", buckets=BUCKETS, registry=registry
        )
        longest = Gauge(
            "flagfall_loop_longest_hold_seconds", "The longest of these since the start.", registry=registry
        )
        longest.set_function(lambda: self.longest_hold_seconds)
        self._beats = 0
        self._beating: asyncio.Task[None] | None = None
        self._ended = threading.Event()
        self.held_seconds = 0.0
        """How long the loop has been held until now; 0 while it runs."""
        self.longest_hold_seconds = 0.0

    async def on_start(self) -> None:
        self._beating = background.begin(self._beat(), "the watch on the loop")
        threading.Thread(target=self._listen, name="loop-watch", daemon=True).start()

    async def on_stop(self) -> None:
        self._ended.set()
        if self._beating is not None:
            self._beating.cancel()

    async def _beat(self) -> None:
        came = last_late = time.monotonic()
        while True:
            wait = BEAT_SECONDS if came - last_late < QUIET_AFTER_SECONDS else QUIET_BEAT_SECONDS
            await asyncio.sleep(wait)
            began, came = came, time.monotonic()
            held = min(came - began - wait, self.held_seconds + 2 * LOOK_SECONDS)
            last_late = came if held > LATE_SECONDS else last_late
            self._beats += 1
            self.longest_hold_seconds = max(self.longest_hold_seconds, held)
            self._holds.observe(held)

    def _listen(self) -> None:
        held, dumped = HeldTime(2 * LOOK_SECONDS), False
        while not self._ended.wait(LOOK_SECONDS):
            self.held_seconds = max(0.0, held.look(self._beats, time.monotonic()) - QUIET_BEAT_SECONDS)
            if not self.held_seconds and dumped:
                log.warning("the event loop runs again")
                dumped = False
            if self.held_seconds >= DUMP_SECONDS and not dumped:
                log.warning("the event loop has been held for %.1f s, here:\n%s", self.held_seconds, main_stack())
                dumped = True
            if 0 < self._exit_seconds <= self.held_seconds:
                why = f"the event loop has been held for {self.held_seconds:.0f} s, here:\n{main_stack()}"
                end_now(ExitCode.STALLED, why)

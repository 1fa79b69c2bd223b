"""Panes of one length: longer windows that are folded from them, and windows that overlap."""

from __future__ import annotations

from typing import NamedTuple

MOST_AT_ONCE = 10_000
"""Windows that hold an instant: a day's, one every nine seconds."""


class Panes(NamedTuple):
    """`[k * size + offset, (k + 1) * size + offset)` for every k."""

    size_us: int
    offset_us: int

    def start(self, instant_us: int) -> int:
        """Start of the pane that holds the instant; floors before 1970 too."""
        return (instant_us - self.offset_us) // self.size_us * self.size_us + self.offset_us


class Overlap(NamedTuple):
    """Windows `[k * step + offset, k * step + offset + size)` for every k, and the panes that they share.

    A pane is a step, or its two parts where the step does not divide the size, so that no window begins or ends
    inside one.
    """

    size_us: int
    step_us: int
    offset_us: int

    def pane_start(self, instant_us: int) -> int:
        """Start of the pane that holds the instant."""
        begun_us, cut_us = self.last_window(instant_us), self.size_us % self.step_us
        return begun_us + cut_us if cut_us and instant_us >= begun_us + cut_us else begun_us

    def last_window(self, instant_us: int) -> int:
        """Start of the last window that holds the instant."""
        return (instant_us - self.offset_us) // self.step_us * self.step_us + self.offset_us

    def first_ending_after(self, instant_us: int) -> int:
        """Start of the first window that ends after the instant: of those that hold it, the first."""
        steps = (instant_us - self.size_us - self.offset_us) // self.step_us + 1
        return steps * self.step_us + self.offset_us

    def last_end(self, instant_us: int) -> int:
        """The latest end of a window at or before the instant."""
        return self.first_ending_after(instant_us) - self.step_us + self.size_us

    def windows_of(self, pane_us: int, first_us: int) -> range:
        """Starts of the windows that count a pane, from the first that does."""
        return range(first_us, self.last_window(pane_us) + 1, self.step_us)

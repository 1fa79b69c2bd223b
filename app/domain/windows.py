"""Windows that are more than equal pieces of time: hopping ones, and days and hours of a time zone (rules 7 and 10)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Hopping:
    """Windows `[k * step + offset, k * step + offset + size)` for every k: an instant is in several of them.

    What is stored is a pane: a step, or its two parts where the step does not divide the size, so that no window
    begins or ends inside one.
    """

    column: str
    size_seconds: int
    step_seconds: int
    offset_seconds: int = 0

    @property
    def size_us(self) -> int:
        return self.size_seconds * SECOND_US

    @property
    def step_us(self) -> int:
        return self.step_seconds * SECOND_US

    @property
    def offset_us(self) -> int:
        return self.offset_seconds * SECOND_US

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


class Unit(StrEnum):
    """What of the calendar a window is."""

    HOUR = "hour"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days or hours that clocks in a time zone show: a day is 23 or 25 hours long where clocks are changed.

    A day begins with the first instant that has its date; an hour where clocks show a full hour, so the hour that
    clocks show twice is two windows. `zone` is a name of the IANA database.
    """

    column: str
    unit: Unit
    zone: str

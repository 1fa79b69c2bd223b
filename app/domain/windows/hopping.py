"""Windows of one length that begin oftener than they end: an instant is in several of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from app.domain.source import Source
from app.domain.windows.contract import Window
from app.domain.windows.durations import SECOND_US, to_duration
from app.domain.windows.panes import MOST_AT_ONCE, Overlap
from app.domain.windows.tumbling import offset_document, offset_words, size_problems


@dataclass(frozen=True, slots=True)
class Hopping(Window):
    """Windows `[k * step + offset, k * step + offset + size)` for every k; stored are the panes that they share."""

    key = "hopping"
    tag = 4

    column: str
    size_seconds: int
    step_seconds: int
    offset_seconds: int = 0

    @property
    def size_us(self) -> int:
        return self.size_seconds * SECOND_US

    @property
    def overlap(self) -> Overlap:
        return Overlap(self.size_us, self.step_seconds * SECOND_US, self.offset_seconds * SECOND_US)

    def start(self, instant_us: int) -> int:
        return self.overlap.pane_start(instant_us)

    def end(self, start_us: int, last_us: int = 0) -> int:
        return self.overlap.last_window(start_us) + self.size_us

    def last_end(self, instant_us: int) -> int:
        return self.overlap.last_end(instant_us)

    def ended_below(self, to_us: int) -> int:
        return self.overlap.first_ending_after(to_us)

    def window_end(self, start_us: int, last_us: int = 0) -> int:
        return start_us + self.size_us

    def own_problems(self, source: Source) -> Iterable[str]:
        yield from size_problems(self.size_seconds, self.offset_seconds, self.step_seconds, "step")
        if self.step_seconds <= 0:
            yield f"step of {self.step_seconds} seconds"
        elif self.size_seconds > self.step_seconds * MOST_AT_ONCE:
            yield (
                f"{self.size_seconds // self.step_seconds} windows would hold each instant, and {MOST_AT_ONCE} may: "
                "each of them has a row, and a final"
            )
        elif self.step_seconds > self.size_seconds:
            yield (
                f"step of {self.step_seconds} seconds is longer than the window's {self.size_seconds}: "
                "what lies between two windows would be in none"
            )

    def document(self) -> dict[str, Any]:
        size_us, step_us, offset_us = self.overlap
        lengths = {"size": to_duration(size_us), "step": to_duration(step_us)}
        return {"column": self.column, **lengths, **offset_document(offset_us)}

    def describe(self) -> str:
        return f"{self.size_seconds} s every {self.step_seconds} s{offset_words(self.offset_seconds)} by {self.column}"

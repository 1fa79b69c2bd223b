"""Windows that records make: as long as one follows another within a gap (rule 19)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from app.domain.measures.parts import Op, Part, Take
from app.domain.source import Source
from app.domain.windows.contract import Window
from app.domain.windows.durations import SECOND_US, to_duration


@dataclass(frozen=True, slots=True)
class Session(Window):
    """Spans of records of one group, each at most `gap_seconds` after another, over an instant column.

    A stored session's start is its first record's instant; its cell `session_end_us` has the last one's.
    """

    key = "session"
    tag = 2
    last_cell: ClassVar[str] = "session_end_us"

    column: str
    gap_seconds: int

    @property
    def gap_us(self) -> int:
        return self.gap_seconds * SECOND_US

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.last_cell, Op.MAX, Take.VALUE, self.column),)

    def start(self, instant_us: int) -> int:
        """Of the session that the record alone would make."""
        return instant_us

    def end(self, start_us: int, last_us: int = 0) -> int:
        return last_us + self.gap_us

    def last_end(self, instant_us: int) -> int:
        """A multiple of the gap, so that it moves in steps: sessions end anywhere."""
        return instant_us // self.gap_us * self.gap_us

    def ended_below(self, to_us: int) -> int:
        raise ValueError("a session's start does not tell when it ends")

    def own_problems(self, source: Source) -> Iterable[str]:
        if self.gap_seconds <= 0:
            yield f"session gap of {self.gap_seconds} seconds"

    def span_us(self, instant_us: int) -> int:
        return self.gap_us + -(instant_us + self.gap_us) % self.gap_us

    def document(self) -> dict[str, Any]:
        return {"column": self.column, "gap": to_duration(self.gap_us)}

    def describe(self) -> str:
        return f"sessions of {self.column}, gap {self.gap_seconds} s"

"""One window for all records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from app.domain.windows.contract import Window


@dataclass(frozen=True, slots=True)
class AllTime(Window):
    """One window without an end: a running total. It has no lateness and never closes."""

    key = "all_time"
    tag = 0
    ends = False
    column = None

    def start(self, instant_us: int) -> int:
        raise ValueError("all time has no start")

    def end(self, start_us: int, last_us: int = 0) -> int:
        raise ValueError("all time never ends")

    def last_end(self, instant_us: int) -> int:
        raise ValueError("all time never ends")

    def ended_below(self, to_us: int) -> int:
        raise ValueError("all time never ends")

    def span_us(self, instant_us: int) -> int:
        return 0

    def document(self) -> dict[str, Any]:
        return {}

    def describe(self) -> str:
        return "all time"

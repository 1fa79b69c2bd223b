"""Windows of one length, one behind the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.domain.source import Source
from app.domain.windows.contract import Window
from app.domain.windows.durations import SECOND_US, to_duration
from app.domain.windows.panes import Panes


@dataclass(frozen=True, slots=True)
class Tumbling(Window):
    """Panes `[k * size + offset, (k + 1) * size + offset)` of event time since the epoch, over an instant column."""

    key = "tumbling"
    tag = 1

    column: str
    size_seconds: int
    offset_seconds: int = 0

    @property
    def size_us(self) -> int:
        return self.size_seconds * SECOND_US

    @property
    def offset_us(self) -> int:
        return self.offset_seconds * SECOND_US

    @property
    def panes(self) -> Panes:
        return Panes(self.size_us, self.offset_us)

    def start(self, instant_us: int) -> int:
        return self.panes.start(instant_us)

    def end(self, start_us: int, last_us: int = 0) -> int:
        return start_us + self.size_us

    def last_end(self, instant_us: int) -> int:
        return self.start(instant_us)

    def ended_below(self, to_us: int) -> int:
        return self.start(to_us)

    def starts(self, from_us: int, until_us: int, most: int) -> Sequence[int] | None:
        starts = range(self.start(from_us - 1) + self.size_us, until_us, self.size_us)
        return starts if len(starts) <= most else None

    def own_problems(self, source: Source) -> Iterable[str]:
        yield from size_problems(self.size_seconds, self.offset_seconds, self.size_seconds, "size")

    def document(self) -> dict[str, Any]:
        return {"column": self.column, "pane": to_duration(self.size_us), **offset_document(self.offset_us)}

    def describe(self) -> str:
        return f"{self.size_seconds} s{offset_words(self.offset_seconds)} by {self.column}"


def size_problems(size_seconds: int, offset_seconds: int, period_seconds: int, period: str) -> Iterable[str]:
    """What is wrong with a window's size, and with an offset that must lie within a `period`."""
    if size_seconds <= 0:
        yield f"window of {size_seconds} seconds"
    if offset_seconds < 0 or 0 < period_seconds <= offset_seconds:
        yield f"window offset of {offset_seconds} seconds is not between 0 and the {period} of {period_seconds}"


def offset_document(offset_us: int) -> dict[str, str]:
    """What HTTP says of an offset: nothing where there is none."""
    return {"offset": to_duration(offset_us)} if offset_us else {}


def offset_words(offset_seconds: int) -> str:
    """The same for people."""
    return f" from {offset_seconds} s" if offset_seconds else ""

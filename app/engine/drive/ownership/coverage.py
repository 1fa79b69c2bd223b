"""Until when all that came to a task's topics is in a copy of its state.

A changelog cannot tell: an owner that is dead, stuck or behind writes nothing there of what piles up unread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.marker import InputPosition

MOST_LOOKS = 64
"""Looks that are kept while their ends are not reached; of more every second is forgotten, which makes none younger."""


class EndsSeen(NamedTuple):
    """Where the topics ended when that was asked, at this moment (monotonic) or just after it."""

    at_seconds: float
    ends: Mapping[str, int]

    def is_reached(self, inputs: Mapping[str, InputPosition]) -> bool:
        """Whether a task at these positions has read all that had come."""
        return all(topic in inputs and inputs[topic].next_offset >= end for topic, end in self.ends.items())


@dataclass(slots=True)
class Coverage:
    """`until_seconds` (monotonic): what had come by then is in the copy; None before it has once reached the ends."""

    until_seconds: float | None = None
    _unreached: list[EndsSeen] = field(default_factory=list)

    def look(self, seen: EndsSeen) -> None:
        """Later than those before it."""
        self._unreached.append(seen)
        if len(self._unreached) > MOST_LOOKS:
            del self._unreached[1::2]

    def reach(self, inputs: Mapping[str, InputPosition]) -> None:
        """The copy stands at these positions."""
        while self._unreached and self._unreached[0].is_reached(inputs):
            self.until_seconds = self._unreached.pop(0).at_seconds

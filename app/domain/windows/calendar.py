"""Windows that are days or hours of a time zone (rule 10)."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from app.domain.event_time import EARLIEST_US, LATEST_US
from app.domain.source import Source
from app.domain.windows.boundaries import Boundaries, Unit, boundaries, is_zone
from app.domain.windows.contract import Window


@dataclass(frozen=True)
class Calendar(Window):
    """The days or hours that clocks in a time zone show: a day is 23 or 25 hours long where clocks are changed.

    A day begins with the first instant that has its date; an hour where clocks show a full hour, so the hour that
    clocks show twice is two windows. `zone` is a name of the IANA database.
    """

    key = "calendar"
    tag = 3

    column: str
    unit: Unit
    zone: str

    _bounds_us: ClassVar[tuple[int, int] | None] = None  # of the column; an instance has them `over` a source

    def over(self, source: Source) -> Calendar:
        placed = replace(self)
        placed.__dict__["_bounds_us"] = source.bounds(self.column)
        return placed

    @cached_property
    def boundaries(self) -> Boundaries:
        """Where windows begin and end: the one table that all translators read, as long as the column's bounds."""
        if self._bounds_us is None:
            raise TypeError("a calendar knows its days only over a source, as the window of a view")
        return boundaries(self.unit, self.zone, *self._bounds_us)

    def start(self, instant_us: int) -> int:
        return self.boundaries.start(instant_us)

    def end(self, start_us: int, last_us: int = 0) -> int:
        return self.boundaries.end(start_us)

    def last_end(self, instant_us: int) -> int:
        return self.boundaries.last(instant_us)

    def ended_below(self, to_us: int) -> int:
        return self.boundaries.last(to_us)

    def is_start(self, instant_us: int) -> bool:
        return self.boundaries.has(instant_us)

    def starts(self, from_us: int, until_us: int, most: int) -> Sequence[int] | None:
        instants = self.boundaries.instants
        low, high = bisect_left(instants, from_us), bisect_left(instants, until_us)
        return instants[low:high] if high - low <= most else None

    def own_problems(self, source: Source) -> Iterable[str]:
        if self.unit not in list(Unit):
            yield f"calendar unit {self.unit!r} is none of {', '.join(Unit)}"
        if not is_zone(self.zone):
            yield f"time zone {self.zone!r} is not in the IANA database, as America/New_York is"
        if self.column in source.by_name:
            low, high = source.bounds(self.column)
            if low is None or high is None or low < EARLIEST_US or high > LATEST_US:
                known = "between the years 1800 and 2300, whose days are known"
                yield f"window column {self.column!r} needs bounds {known}"

    def meaning(self) -> dict[str, Any]:
        """Where clocks are changed elsewhere, or at another time, days are others too."""
        return self.fields() | {"boundaries": hashlib.sha256(self.boundaries.instants.tobytes()).hexdigest()}

    def document(self) -> dict[str, Any]:
        return {"column": self.column, "unit": self.unit, "zone": self.zone}

    def describe(self) -> str:
        return f"{self.unit} of {self.zone} by {self.column}"

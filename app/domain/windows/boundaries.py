"""Where calendar windows begin and end, computed once for all translators (rule 10)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.domain.windows.durations import SECOND_US

HOUR_SECONDS, DAY_SECONDS = 3600, 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Unit(StrEnum):
    """What of the calendar a window is."""

    HOUR = "hour"
    DAY = "day"


def is_zone(name: str) -> bool:
    """Whether the IANA database, as it is here, has the time zone."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # no such file, a path, a folder
        return False
    return True


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Where calendar windows begin and end, rising: window i is `[instants[i], instants[i + 1])`, in microseconds."""

    instants: array[int]

    def start(self, instant_us: int) -> int:
        """Start of the window that holds the instant; ValueError if the table has none."""
        return self.instants[self._at(instant_us)]

    def end(self, instant_us: int) -> int:
        """Exclusive end of the window that holds the instant; ValueError if the table has none."""
        return self.instants[self._at(instant_us) + 1]

    def last(self, instant_us: int) -> int:
        """The latest boundary at or before the instant; the instant itself before the first."""
        at = bisect_right(self.instants, instant_us) - 1
        return instant_us if at < 0 else self.instants[at]

    def has(self, instant_us: int) -> bool:
        """Whether a window begins there."""
        at = bisect_left(self.instants, instant_us)
        return at < len(self.instants) - 1 and self.instants[at] == instant_us

    def _at(self, instant_us: int) -> int:
        at = bisect_right(self.instants, instant_us) - 1
        if not 0 <= at < len(self.instants) - 1:
            raise ValueError(f"instant {instant_us} is outside {self.instants[0]} to {self.instants[-1]}")
        return at


@lru_cache
def boundaries(unit: Unit, zone: str, low_us: int, high_us: int) -> Boundaries:
    """Every boundary that instants of `[low_us, high_us]` need, one at or before the first and one behind the last."""
    clock = ZoneInfo(zone)
    first = _shown(clock, low_us // SECOND_US).date() - timedelta(days=1)
    last = _shown(clock, high_us // SECOND_US).date() + timedelta(days=2)
    days = sorted({_begins(clock, first + timedelta(days=n)) for n in range((last - first).days + 1)})
    seconds = days if unit is Unit.DAY else [at for pair in pairwise(days) for at in _hours(clock, *pair)]
    return Boundaries(array("q", (at * SECOND_US for at in seconds)))


def _shown(clock: ZoneInfo, at: int) -> datetime:
    """What clocks show at a second since the epoch."""
    return (_EPOCH + timedelta(seconds=at)).astimezone(clock)


def _begins(clock: ZoneInfo, day: date) -> int:
    """The first second since the epoch at which clocks show the date, or a later one where it was left out."""
    midnight = datetime(day.year, day.month, day.day)
    around = [(midnight.replace(fold=fold, tzinfo=clock) - _EPOCH) // timedelta(seconds=1) for fold in (0, 1)]
    low, high = min(around), max(around)
    if low == high or _shown(clock, low).date() >= day:
        return low
    return low + bisect_left(range(low, high), True, key=lambda at: _shown(clock, at).date() >= day)


def _hours(clock: ZoneInfo, begins: int, ends: int) -> Iterator[int]:
    """The seconds of `[begins, ends)` at which hours begin."""
    at = begins
    if ends - begins == DAY_SECONDS and _shown(clock, begins).utcoffset() == _shown(clock, ends).utcoffset():
        yield from range(begins, ends, HOUR_SECONDS)
        return
    while at < ends:
        shown = _shown(clock, at)
        past = shown.minute * 60 + shown.second
        if not past or at == begins:
            yield at
        at += HOUR_SECONDS - past

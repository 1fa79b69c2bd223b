"""Where a view differs: its differences by the hour of their windows, and by each column of their groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spark_batch.findings.keys import shown_instant
from spark_batch.findings.page.told import told_value

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
MOST_BARS = 96
MOST_VALUES = 10
HEIGHT, WIDTH = 60, 1_000


class TimeBar(NamedTuple):
    """Differences of windows that begin in one stretch of time."""

    since: str
    rows: int
    x: float
    y: float
    width: float
    height: float


class TimeBars(NamedTuple):
    """`stretch`: what a bar stands for, in words."""

    stretch: str
    bars: Sequence[TimeBar]


class GroupTally(NamedTuple):
    """`share`: of the most frequent value's count, in percent."""

    value: str
    rows: int
    share: int


def by_time(differences: Sequence[Mapping[str, Any]]) -> TimeBars | None:
    """Bars from the first window that differs to the last; None where rows have no window."""
    starts = [one["window_start_us"] for one in differences if one["window_start_us"] is not None]
    if not starts:
        return None
    stretch_us, words = _stretch(min(starts), max(starts))
    counts = Counter(start // stretch_us for start in starts)
    first, last, most = min(counts), max(counts), max(counts.values())
    width = WIDTH / (last - first + 1)
    bars = []
    for at, count in sorted(counts.items()):
        height = round(HEIGHT * count / most, 2)
        x = round((at - first) * width, 2)
        bars.append(TimeBar(shown_instant(at * stretch_us), count, x, HEIGHT - height, round(0.9 * width, 2), height))
    return TimeBars(words, bars)


def by_group(view: Mapping[str, Any]) -> dict[str, list[GroupTally]]:
    """By column of the view's groups, the values with most differences."""
    return {name: _most(view, name) for name in view["groups"]}


def _most(view: Mapping[str, Any], name: str) -> list[GroupTally]:
    top = Counter(one["group"][name] for one in view["differences"]).most_common(MOST_VALUES)
    return [GroupTally(told_value(view, name, value), rows, round(100 * rows / top[0][1])) for value, rows in top]


def _stretch(first_us: int, last_us: int) -> tuple[int, str]:
    """The shortest of an hour and whole days that no more bars than MOST_BARS are needed for."""
    if last_us // HOUR_US - first_us // HOUR_US < MOST_BARS:
        return HOUR_US, "an hour"
    days = (last_us // DAY_US - first_us // DAY_US) // MOST_BARS + 1
    return days * DAY_US, "a day" if days == 1 else f"{days:,} days"

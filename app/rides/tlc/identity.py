"""Which service a file's trips are of, and which months it covers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl

from app.rides.new_york import ZONE
from app.rides.tlc.columns import understand
from app.rides.tlc.errors import TlcFileError

_MONTH_IN_NAME = re.compile(r"(?<!\d)(20\d\d)-(0[1-9]|1[0-2])(?!\d)")
_SERVICE_IN_NAME = re.compile(r"(fhvhv|hvfhv|fhv|green|yellow)")


@dataclass(frozen=True, slots=True)
class Period:
    """Whole New York months, as microseconds since the epoch (UTC); `end_us` is exclusive."""

    start_us: int
    end_us: int


def service_of(path: Path, names: Sequence[str]) -> str:
    """yellow, green, fhv or hvfhv: told by the columns, and by the file's name where they leave a choice.

    Raises TlcFileError where neither tells, where columns of two services stand together, and where
    there is no pick-up time at all.
    """
    columns = [known for known in map(understand, names) if known is not None]
    if not any(column.target == "pickup_at_us" for column in columns):
        raise TlcFileError(path, f"not TLC trip records: no pick-up time; columns not understood: {_strangers(names)}")
    publishers = [column.services for column in columns if column.services]
    certain = frozenset().union(*(services for services in publishers if len(services) == 1))
    if len(certain) > 1:
        raise TlcFileError(path, f"columns of {' and '.join(sorted(certain))} stand together: {', '.join(names)}")
    possible = certain or frozenset.intersection(*publishers)
    return next(iter(possible)) if len(possible) == 1 else _service_named(path, possible)


def not_understood(names: Sequence[str]) -> tuple[str, ...]:
    """The columns that no generation of TLC's files has."""
    return tuple(name for name in names if understand(name) is None)


def period_of(path: Path, pickup_at_us: pl.Series) -> Period:
    """The month that the file's name says, if the median pick-up lies in it.

    Else the months from the 1st to the 99th percentile of the pick-ups: a few stray years do not matter.
    """
    median = pickup_at_us.median()
    if median is None:
        raise TlcFileError(path, "no row can be read; is it a file of trip records?")
    if named := _MONTH_IN_NAME.search(path.name):
        year, month = int(named[1]), int(named[2])
        period = Period(_month_start_us(year, month), _month_start_us(year, month + 1))
        if period.start_us <= int(median) < period.end_us:  # type: ignore[arg-type]
            return period
    first, last = (_local(pickup_at_us.quantile(quantile, "nearest")) for quantile in (0.01, 0.99))
    return Period(_month_start_us(first.year, first.month), _month_start_us(last.year, last.month + 1))


def _service_named(path: Path, possible: frozenset[str]) -> str:
    named = _SERVICE_IN_NAME.search(path.name.lower())
    service = {"fhvhv": "hvfhv"}.get(named[1], named[1]) if named else ""
    if service not in possible:
        choice = " or ".join(sorted(possible)) or "no one service"
        raise TlcFileError(
            path,
            f"its columns fit {choice}; let the file's name say which (e.g. yellow_tripdata_2019-01.csv)",
        )
    return service


def _strangers(names: Sequence[str]) -> str:
    return ", ".join(not_understood(names)) or "none, but none of them is a pick-up time"


def _month_start_us(year: int, month: int) -> int:
    """The first instant of a New York month; month 13 is the next January."""
    start = dt.datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=ZoneInfo(ZONE))
    return int(start.timestamp()) * 1_000_000


def _local(at_us: float | None) -> dt.datetime:
    return dt.datetime.fromtimestamp((at_us or 0) / 1_000_000, ZoneInfo(ZONE))

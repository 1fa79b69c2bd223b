"""What a drill is: something that happens to workers and brokers while rides come in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.drills.world.field import Field


class DrillBroken(AssertionError):
    """A drill could not go on: what it waited for did not come, or a worker did what it must not do."""


@dataclass(frozen=True)
class Size:
    """How long a run is. `rounds`: how often the fault comes; `rows`: of a changelog that is written beforehand."""

    rounds: int
    rides_per_second: int
    rows: int


LONG = Size(rounds=8, rides_per_second=1_000, rows=1_000_000)
SHORT = Size(rounds=1, rides_per_second=200, rows=40_000)


@dataclass(frozen=True)
class Drill:
    """One kind of fault. `run` gets the field while the load is on; afterwards everything is compared.

    `long_rounds`, `short_rounds`: rounds of either form, where the usual number does not fit.
    """

    name: str
    help: str
    run: Callable[[Field], None]
    nodes: int = 1
    long_rounds: int = LONG.rounds
    short_rounds: int = SHORT.rounds
    forgets: bool = False
    """The broker is restarted: it may then append what it has already, and not told, once more (`doubled`)."""
    compacted: bool = False
    """The changelog's history is not whole afterwards."""

    def size(self, *, short: bool) -> Size:
        """How long a run is in this form."""
        return replace(SHORT, rounds=self.short_rounds) if short else replace(LONG, rounds=self.long_rounds)

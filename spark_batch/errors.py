"""Why a reconciliation has no verdict on the figures.

FlagfallError
├── AnotherRun          try again: another run is under way, and this one was not begun (exit code 11)
└── NoVerdict
    ├── Inconclusive    try again: a worker is not ready, the copy took too long (exit code 11)
    └── Invalid         the comparison would mean nothing: the log does not hold what the cut claims (exit code 12)
"""

from __future__ import annotations

from app.domain.errors import FlagfallError


class NoVerdict(FlagfallError):
    """The run ends without saying whether the figures are right; the text says why and what to do."""


class Inconclusive(NoVerdict):
    """Nothing is known to be wrong, but the copy cannot be trusted. Run it again."""


class AnotherRun(FlagfallError):
    """Another run of the application is under way, and none is begun beside it. Run it again when that has ended."""

    exit_code = 11


class Invalid(NoVerdict):
    """The cut cannot be recomputed, however often it is tried. The text names topic, partition and offsets."""


def other_release(partition: int, name: str, version: str, known: str | None) -> Inconclusive:
    """A task is held by workers that declare a view, join or alert as another version than is compared here, or not."""
    there = "not there" if known is None else f"{known} there"
    return Inconclusive(
        f"task of partition {partition}: {name} is {there}, here it is {version}: workers and `flagfall reconcile` do "
        "not have the same definitions. Run it again, with these, when all workers have them"
    )

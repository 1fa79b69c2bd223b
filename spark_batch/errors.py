"""Why a reconciliation has no verdict on the figures.

FlagfallError
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


class Invalid(NoVerdict):
    """The cut cannot be recomputed, however often it is tried. The text names topic, partition and offsets."""

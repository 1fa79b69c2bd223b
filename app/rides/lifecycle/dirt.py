"""What is wrong with generated life cycles: each kind with the share of rides that has it."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from app.codecs.arrays import Int64s
from app.domain.windows.durations import SECOND_US
from app.rides.generator.draws import Bools, Draws

MAX_DISORDER_SECONDS = 15 * 60
MAX_AGAIN_SECONDS = 10 * 60
LATE_SECONDS = (3_600, 24 * 3_600)


@dataclass(frozen=True, slots=True)
class LifecycleDirt:
    """Shares of the rides, 0 to 1.

    disorder: of each record, sent up to 15 minutes after its time. missing_ends: no END is ever sent. missing_fares:
    no fare. duplicates: of each record, sent again up to 10 minutes later. late_fares: sent 1 to 24 hours after.
    """

    disorder: float = 0.25
    missing_ends: float = 0.005
    missing_fares: float = 0.01
    duplicates: float = 0.002
    late_fares: float = 0.005

    def __post_init__(self) -> None:
        for field in fields(self):
            rate = getattr(self, field.name)
            if not 0 <= rate <= 1:
                raise ValueError(f"dirt {field.name}={rate}: a share of the rides from 0 to 1 is needed")

    @classmethod
    def real(cls) -> LifecycleDirt:
        """The shares that are the default."""
        return cls()

    @classmethod
    def none(cls) -> LifecycleDirt:
        """Every record once, at its time."""
        return cls(**{field.name: 0.0 for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class Sending:
    """Of one kind of record, per ride: whether it is sent at all, how long after its time, and whether once more.

    `again_us`: how long after the first sending the second one is; only where `again` says so.
    """

    sent: Bools
    delay_us: Int64s
    again: Bools
    again_us: Int64s


def sending(dirt: LifecycleDirt, draws: Draws, what: str, missing: float = 0.0, late: float = 0.0) -> Sending:
    """How the records called `what` ("start", "end", "fare") of these rides are sent."""
    disorder_us = (1 + draws.below(f"{what} delay", MAX_DISORDER_SECONDS)) * SECOND_US
    delay_us = np.where(draws.happens(f"{what} disorder", dirt.disorder), disorder_us, 0)
    least, most = LATE_SECONDS
    late_us = (least + draws.below(f"{what} lateness", most - least)) * SECOND_US
    sent = ~draws.happens(f"{what} missing", missing)
    return Sending(
        sent=sent,
        delay_us=np.where(draws.happens(f"{what} late", late), late_us, delay_us),
        again=sent & draws.happens(f"{what} again", dirt.duplicates),
        again_us=(1 + draws.below(f"{what} again delay", MAX_AGAIN_SECONDS)) * SECOND_US,
    )

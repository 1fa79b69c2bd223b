"""Two logs whose records may meet, drawn at random."""

from __future__ import annotations

import random

from tests.support.material.pairing.calls import (
    BILLED,
    BILLS,
    CALLS,
    EVENTS,
    CallLog,
    random_log,
)


def two_logs(draws: random.Random, least: int = 0) -> list[CallLog]:
    events, bills = least + draws.randint(0, 70), least + draws.randint(0, 50)
    return [random_log(draws, CALLS, EVENTS, events), random_log(draws, BILLED, BILLS, bills)]

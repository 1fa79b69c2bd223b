"""Send corrections to their tasks, and tell what became of each (rule 23)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.base.kafka.producer import Producer
from app.base.settings import Settings
from app.codecs.stored.corrections import correction_bytes
from app.domain.corrections.correction import Correction
from app.edge.late.standing import Outcomes
from app.rights import KafkaRole, require_writes

SENT_AT_ONCE = 100
"""Corrections that a task is given together: it judges one in 0.4 ms, and does nothing else meanwhile."""
LOOK_AGAIN_SECONDS = 0.05

APPLIED, REFUSED, UNANSWERED = "applied", "refused", "unanswered"
NOT_SENT = "not_sent"
"""Why there is no answer, where the task was silent before."""


class Judged(NamedTuple):
    """A correction, its outcome, and why."""

    correction: Correction
    outcome: str
    why: str | None


class Corrector:
    """Of one run, whose name its corrections have, each with a number of its own. RightsMissing, before any is sent,
    where some of the `topics` may not be written to."""

    def __init__(self, settings: Settings, run: str, wait_seconds: float, topics: Iterable[str]) -> None:
        require_writes(settings, KafkaRole.MENDER, topics)
        self.run = run
        self._producer = Producer(settings.kafka)
        self._wait_seconds = wait_seconds
        self._sent = 0

    def correct(self, outcomes: Outcomes, partition: int, corrections: Sequence[Correction]) -> Iterator[Judged]:
        """Send them in this order; gives what became of each. A task that is silent is sent no more."""
        silent = False
        for begin in range(0, len(corrections), SENT_AT_ONCE):
            portion = corrections[begin : begin + SENT_AT_ONCE]
            if silent:
                yield from (Judged(one, UNANSWERED, NOT_SENT) for one in portion)
                continue
            for judged in self._corrected(outcomes, partition, portion):
                silent = silent or judged.outcome == UNANSWERED
                yield judged

    def _corrected(self, outcomes: Outcomes, partition: int, corrections: Sequence[Correction]) -> Iterator[Judged]:
        waiting = {f"{self.run}/{self._sent + n}": one for n, one in enumerate(corrections)}
        self._sent += len(waiting)
        values = [correction_bytes(replace(one, run=run)) for run, one in waiting.items()]
        now_ms, nothing = time.time_ns() // 1_000_000, [None] * len(values)
        self._producer.send(outcomes.topic, values, nothing, [now_ms] * len(values), partition)
        self._producer.finish()
        deadline = time.monotonic() + self._wait_seconds
        while waiting and time.monotonic() < deadline:
            for outcome in outcomes.new(partition):
                if (mine := waiting.pop(outcome.correction.run, None)) is not None:
                    yield Judged(mine, APPLIED if outcome.why is None else REFUSED, outcome.why)
            if waiting:
                time.sleep(LOOK_AGAIN_SECONDS)
        for correction in waiting.values():
            yield Judged(correction, UNANSWERED, None)

"""Alerts: what a batch begins and ends, and what has lasted too long by the watermark (rule 20).

A timer fires at the first offset whose watermark reaches it, before that record is applied, whatever the batch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.codecs.stored.halves import StoredHalf, WaitingHalf
from app.domain.pairs.alert import END, START, Alert
from app.domain.pairs.join import Side
from app.engine.core.batch import Batch
from app.engine.core.cells.grouping import APPLIED, DUPLICATE, LATE, OUT_OF_SCOPE
from app.engine.core.draft import Draft
from app.engine.core.pairs.alerting import alert_output
from app.engine.core.pairs.arrivals import Arrived, arrivals
from app.engine.core.pairs.working_halves import WorkingHalves, keep_halves
from app.engine.core.records.usable import Usable
from app.engine.core.views.folding import LateFor, note_late, with_fates

UPKEEP_WATCHED = 20_000
"""Most beginnings or ends of a side that leave in one transaction of the upkeep."""


def watch_batch(draft: Draft, alert: Alert, batch: Batch, usable: Usable) -> LateFor:
    """Put the usable records of a batch into what the alert watches."""
    watching, before = _Watching(draft, alert), draft.state.marker.inputs[batch.topic]
    watching.let_go(before.watermark_us, before.next_offset)
    fates = np.full(len(usable), OUT_OF_SCOPE, np.int8)
    offsets = batch.offsets.tolist()
    for i, arrival in enumerate(arrivals(alert, batch.topic, usable)):
        watching.let_go(arrival.watermark_us, offsets[arrival.at])
        if arrival.half is None:
            continue
        fates[i] = fate = watching.fate(arrival.half, arrival.watermark_us)
        if fate == APPLIED:
            watching.apply(arrival.half, offsets[arrival.at], arrival.watermark_us)
    watching.finish()
    draft.move_alert(alert.name, with_fates(draft.marker.alerts[alert.name], batch.topic, fates))
    late_for: LateFor = {}
    note_late(late_for, alert.name, usable, fates)
    return late_for


def keep_up(draft: Draft, alert: Alert) -> None:
    """Tell what has waited long enough since the watermark was raised without a record, and forget what is over."""
    watching, position = _Watching(draft, alert), draft.marker.inputs[alert.topic]
    watching.let_go(position.watermark_us, position.next_offset, UPKEEP_WATCHED)
    over_us = position.watermark_us - alert.held_us
    for side in Side:
        for half in draft.state.halves[alert.name].until(side, over_us, waiting=False)[:UPKEEP_WATCHED]:
            watching.halves.go(half)
    watching.finish()


class _Watching:
    """One step of an alert: what it watches as it becomes, and what it tells."""

    def __init__(self, draft: Draft, alert: Alert) -> None:
        self._draft, self._alert = draft, alert
        self.halves = WorkingHalves(draft.state.halves[alert.name])
        self._held_us = alert.held_us
        self._told = 0

    def let_go(self, watermark_us: int, offset: int, most: int | None = None) -> None:
        """Tell beginnings that wait in vain at this watermark, which holds from `offset` on; at most so many."""
        over_us = watermark_us - self._held_us
        if not self.halves.is_over(over_us):
            return
        for half in self.halves.waiting_until(over_us, most):
            self._tell(half, None, offset, half.at_us + self._held_us)
            self.halves.go(half)

    def fate(self, half: Arrived, watermark_us: int) -> int:
        if half.at_us + self._held_us <= watermark_us:
            return LATE
        return DUPLICATE if self._held(half.side, half, watermark_us) else APPLIED

    def apply(self, half: Arrived, offset: int, watermark_us: int) -> None:
        """Let a beginning or an end that counts find the other."""
        waiting = WaitingHalf(0, None, None, (), half.columns) if half.side is START else None
        now = StoredHalf(half.side, offset, half.id, half.at_us, waiting)
        self.halves.come(now)
        for other in self._held(END if half.side is START else START, half, watermark_us):
            start, end = (now, other) if half.side is START else (other, now)
            if start.waiting is None:
                continue
            if self._alert.is_long(start.at_us, end.at_us):
                self._tell(start, end, offset, watermark_us)
            self.halves.change(start._replace(waiting=None))

    def finish(self) -> None:
        """Put all of it into the transaction."""
        keep_halves(self._draft, self._alert, self.halves)
        if self._told:
            position = self._draft.marker.alerts[self._alert.name]
            self._draft.move_alert(self._alert.name, replace(position, told=position.told + self._told))

    def _held(self, side: Side, half: Arrived, watermark_us: int) -> list[StoredHalf]:
        """What is not over yet of one side and id."""
        over_us = watermark_us - self._held_us
        return [h for h in self.halves.of_id(side, half.id) if h.at_us > over_us]

    def _tell(self, start: StoredHalf, end: StoredHalf | None, offset: int, told_at_us: int) -> None:
        self._draft.outputs.append(alert_output(self._draft, self._alert, start, end, offset, told_at_us))
        self._told += 1

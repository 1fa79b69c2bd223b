"""Joins: a batch of one topic against the halves of the other side, and halves that leave because nobody came.

Halves leave at the first record whose watermark says so, before that record is applied: a left or outer join's output
holds them in time, whatever the batches.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.codecs.avro.record import encode_record
from app.codecs.batches.carrying import WAITING_BYTES, carried
from app.codecs.stored.halves import StoredHalf, WaitingHalf
from app.domain.errors import StateError
from app.domain.fingerprint import INT64_MAX, signed
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Join, Side, proof_of
from app.domain.records import Value
from app.engine.core.batch import Batch, Output
from app.engine.core.cells.grouping import APPLIED, DUPLICATE, LATE, OUT_OF_SCOPE
from app.engine.core.draft import Draft
from app.engine.core.pairs.arrivals import Arrived, arrivals
from app.engine.core.pairs.working_halves import WorkingHalves, keep_halves
from app.engine.core.records.refusals import unmatched_output
from app.engine.core.records.usable import Usable
from app.engine.core.views.folding import LateFor, note_late, with_fates

UPKEEP_HALVES = 20_000
"""Most halves of a side that leave or are forgotten in one transaction of the upkeep."""
_OTHER = {side: side.other for side in Side}


def join_batch(draft: Draft, join: Join, batch: Batch, usable: Usable) -> LateFor:
    """Put the usable records of a batch of one topic into the join."""
    joining = _Joining(draft, join)
    others = [draft.marker.inputs[topic].watermark_us for topic in join.topics if topic != batch.topic]
    slower_us = min(others, default=INT64_MAX)
    fates = np.full(len(usable), OUT_OF_SCOPE, np.int8)
    for i, arrival in enumerate(arrivals(join, batch.topic, usable)):
        joining.let_leave(min(arrival.watermark_us, slower_us))
        if arrival.half is None:
            continue
        fates[i] = fate = joining.fate(arrival.half, arrival.watermark_us)
        if fate == APPLIED:
            joining.apply(stored_half(batch, arrival.at, arrival.half))
    joining.finish()
    draft.move_join(join.name, with_fates(draft.marker.joins[join.name], batch.topic, fates))
    late_for: LateFor = {}
    note_late(late_for, join.name, usable, fates)
    return late_for


def keep_up(draft: Draft, join: Join) -> None:
    """Let halves leave that nobody can meet any more, and forget ids that nobody can repeat."""
    joining, inputs = _Joining(draft, join), draft.marker.inputs
    watermarks = {side: inputs[join.half(side).topic].watermark_us for side in Side}
    joining.let_leave(min(watermarks.values()), UPKEEP_HALVES)
    held = draft.state.halves[join.name]
    for side in Side:
        for half in held.until(side, watermarks[side] - join.remembered_us, waiting=False)[:UPKEEP_HALVES]:
            joining.halves.go(half)
    joining.finish()


def settled(half: StoredHalf) -> StoredHalf:
    """The half when it waits no more."""
    return half._replace(waiting=None)


def stored_half(batch: Batch, at: int, arrived: Arrived) -> StoredHalf:
    """A half that waits, with its record as it came, or the beginning of a large one."""
    record = carried(batch.keys[at], batch.values[at], batch.headers[at], whole_bytes=WAITING_BYTES)
    waiting = WaitingHalf(int(batch.timestamps_ms[at]), *record, arrived.columns)
    return StoredHalf(arrived.side, int(batch.offsets[at]), arrived.id, arrived.at_us, waiting)


class _Joining:
    """One step of a join: halves as they become, and what is sent on."""

    def __init__(self, draft: Draft, join: Join) -> None:
        self._draft, self._join = draft, join
        self.halves = WorkingHalves(draft.state.halves[join.name])
        self._over_us, self._bound_us = join.unmatched_after_us, join.bound_us
        self._grace_us, self._remembered_us = join.grace_us, join.remembered_us
        self._met = self._unmatched = self._count = self._fingerprint = 0

    def let_leave(self, lower_us: int, most: int | None = None) -> None:
        """Let halves leave that nobody can meet at this lower watermark; at most so many."""
        over_us = lower_us - self._over_us
        if not self.halves.is_over(over_us):
            return
        for half in self.halves.waiting_until(over_us, most):
            partition = self._draft.state.partition
            self._draft.outputs.append(unmatched_output(self._draft.application, self._join, partition, half))
            if self._join.kind.may_lack(half.side.other):
                self._send(*((half, None) if half.side is Side.LEFT else (None, half)))
            self.halves.change(settled(half))
            self._unmatched += 1

    def fate(self, half: Arrived, watermark_us: int) -> int:
        if half.at_us + self._grace_us <= watermark_us:
            return LATE
        since_us = watermark_us - self._remembered_us
        return DUPLICATE if any(h.at_us > since_us for h in self.halves.of_id(half.side, half.id)) else APPLIED

    def apply(self, half: StoredHalf) -> None:
        """Let a half that counts meet the other, or wait."""
        there = self.halves.of_id(_OTHER[half.side], half.id)
        met = [h for h in there if abs(h.at_us - half.at_us) <= self._bound_us]
        for other in met:  # at most one: halves of one id and side are more than two bounds apart
            if other.waiting is None:
                raise StateError(f"join {self._join.name}: half {other.side} at {other.offset} has met already")
            self.halves.change(settled(other))
            self._send(*((half, other) if half.side is Side.LEFT else (other, half)))
            self._met += 1
        self.halves.come(settled(half) if met else half)

    def finish(self) -> None:
        """Put all of it into the transaction."""
        keep_halves(self._draft, self._join, self.halves)
        if not self._met and not self._unmatched:
            return
        position = self._draft.marker.joins[self._join.name]
        moved = replace(
            position,
            joined=position.joined + self._met,
            unmatched=position.unmatched + self._unmatched,
            count=position.count + self._count,
            fingerprint=signed(position.fingerprint + self._fingerprint),
        )
        self._draft.move_join(self._join.name, moved)

    def _send(self, left: StoredHalf | None, right: StoredHalf | None) -> None:
        join, partition = self._join, self._draft.state.partition
        values = join.joined(_columns(left), _columns(right))
        values[LEFT_ORIGIN] = None if left is None else join.origin(Side.LEFT, partition, left.offset)
        values[RIGHT_ORIGIN] = None if right is None else join.origin(Side.RIGHT, partition, right.offset)
        count, fingerprint = proof_of(values)
        self._count, self._fingerprint = self._count + count, self._fingerprint + fingerprint
        value = encode_record(join.source, self._draft.definition.schema_ids[join.output.name], values)
        key = values[join.key]
        told = None if key is None else str(key).encode()
        timestamp_ms = max(half.waiting.timestamp_ms for half in (left, right) if half and half.waiting)
        output = Output(join.output.name, told, value, partition=partition, timestamp_ms=timestamp_ms)
        self._draft.outputs.append(output)


def _columns(half: StoredHalf | None) -> dict[str, Value] | None:
    return None if half is None or half.waiting is None else half.waiting.columns

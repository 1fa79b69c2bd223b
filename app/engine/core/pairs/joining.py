"""Joins: a batch of one topic against the halves of the other side, and halves that leave because nobody came.

Halves leave at the first record whose watermark says so, before that record is applied: a left or outer join's output
holds them in time, whatever the batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs
from app.codecs.stored.halves import decode_halves
from app.codecs.weaving import spread
from app.domain.fingerprint import INT64_MAX, INT64_MIN, signed
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Join, Side
from app.domain.pairs.joined import taken_of
from app.domain.records import Place
from app.engine.core.batch import Batch, MadeOutputs, Output
from app.engine.core.draft import Draft
from app.engine.core.pairs.arrivals import Arrivals, arrivals
from app.engine.core.pairs.changing import forget, keep_walk, pack
from app.engine.core.pairs.loops import join_halves
from app.engine.core.pairs.telling import ToldColumn, carried, first_of, outputs_of
from app.engine.core.pairs.waiting import waiting_halves
from app.engine.core.pairs.walking import Times, ToldPairs, Walk, earlier
from app.engine.core.records.fingerprint import mix_all, origins
from app.engine.core.records.refusals import unmatched_output
from app.engine.core.records.usable import Usable
from app.engine.core.rows.halves import NONE, SETTLED
from app.engine.core.views.folding import LateFor, note_late, with_fates

UPKEEP_HALVES = 20_000
"""Most halves that leave, or of a side are forgotten, in one transaction of the upkeep."""


def join_batch(draft: Draft, join: Join, batch: Batch, usable: Usable) -> LateFor:
    """Put the usable records of a batch of one topic into the join."""
    late_for: LateFor = {}
    if not len(usable):
        return late_for
    others = [draft.marker.inputs[topic].watermark_us for topic in join.topics if topic != batch.topic]
    came = arrivals(join, batch, usable)
    lower_us = np.minimum(came.watermarks_us, min(others, default=INT64_MAX))
    walk = Walk(join, draft.state.halves[join.name], came, join_halves, _times(join, came.watermarks_us, lower_us))
    waiting = waiting_halves(join, batch, usable, walk)
    _tell(draft, join, walk, waiting)
    keep_walk(draft, join, walk, waiting)
    draft.move_join(join.name, with_fates(draft.marker.joins[join.name], batch.topic, walk.fates))
    note_late(late_for, join.name, usable, walk.fates)
    return late_for


def keep_up(draft: Draft, join: Join) -> None:
    """Let halves leave that nobody can meet any more, and forget ids that nobody can repeat."""
    if pack(draft, join):
        return
    held, inputs = draft.state.halves[join.name], draft.marker.inputs
    watermarks = [inputs[join.half(side).topic].watermark_us for side in Side]
    lower_us = np.array([min(watermarks)])
    walk = Walk(join, held, Arrivals.nothing(0, 0), join_halves, _times(join, lower_us, lower_us), UPKEEP_HALVES)
    _tell(draft, join, walk, Blobs.nulls(1))
    keep_walk(draft, join, walk, Blobs.nulls(1))
    until_us = [int(earlier(np.array([watermark]), join.remembered_us)[0]) for watermark in watermarks]
    over = [held.until(us, SETTLED, side)[:UPKEEP_HALVES] for side, us in enumerate(until_us)]
    forget(draft, join, np.concatenate(over))


def _times(join: Join, watermarks_us: Int64s, lower_us: Int64s) -> Times:
    return Times(
        late_until_us=earlier(watermarks_us, join.grace_us),
        since_us=earlier(watermarks_us, join.remembered_us),
        over_us=earlier(lower_us, join.unmatched_after_us),
        reach_us=join.bound_us,
    )


def _tell(draft: Draft, join: Join, walk: Walk, waiting: Blobs) -> None:
    """Send on what met, and what left because nobody came."""
    told = walk.told
    if not len(told.left):
        return
    alone = (told.left == NONE) | (told.right == NONE)
    unmatched = int(alone.sum())
    if unmatched:
        _send_unmatched(draft, join, walk, told.at(alone), waiting)
    sent = ~alone
    for side, halves in ((Side.LEFT, told.left), (Side.RIGHT, told.right)):
        if join.kind.may_lack(side):
            sent |= halves == NONE
    count, fingerprint = _send(draft, join, walk, told.at(sent), waiting)
    position = draft.marker.joins[join.name]
    moved = replace(
        position,
        joined=position.joined + len(alone) - unmatched,
        unmatched=position.unmatched + unmatched,
        count=position.count + count,
        fingerprint=signed(position.fingerprint + fingerprint),
    )
    draft.move_join(join.name, moved)


def _send_unmatched(draft: Draft, join: Join, walk: Walk, told: ToldPairs, waiting: Blobs) -> None:
    """Halves that left, each made anew from its bytes when it is written: as they came."""
    numbers = np.maximum(told.left, told.right)  # the one that is not NONE
    halves, offsets = decode_halves(walk.values_of(numbers, waiting)), walk.offsets_of(numbers)
    application, partition = draft.application, draft.state.partition

    def made(nth: int) -> Output:
        side = Side.RIGHT if told.left[nth] == NONE else Side.LEFT
        place = Place(join.half(side).topic, partition, int(offsets[nth]))
        return unmatched_output(application, join, side, place, halves, nth)

    draft.send(MadeOutputs(len(numbers), made))


def _send(draft: Draft, join: Join, walk: Walk, told: ToldPairs, waiting: Blobs) -> tuple[int, int]:
    """Joined records; gives how many halves are in them, and their fingerprint (rule 12)."""
    partition, timestamps_ms = draft.state.partition, np.full(len(told.left), INT64_MIN, np.int64)
    carried_by, columns = dict[Side, Mapping[str, ToldColumn]](), dict[str, ToldColumn]()
    count = fingerprint = 0
    for side, numbers, name in zip(Side, (told.left, told.right), (LEFT_ORIGIN, RIGHT_ORIGIN), strict=True):
        half, there = join.half(side), np.flatnonzero(numbers != NONE)
        halves = decode_halves(walk.values_of(numbers[there], waiting))
        packed = origins(half.source.topic(half.topic).number, partition, walk.offsets_of(numbers))
        columns[name] = packed, numbers != NONE
        carried_by[side] = carried(join, side, spread(halves.columns, there, len(numbers)))
        timestamps_ms[there] = np.maximum(timestamps_ms[there], halves.timestamps_ms)
        count, fingerprint = count + len(there), fingerprint + int(mix_all(packed[there]).sum())
    columns |= _joined(join, carried_by)
    schema_id = draft.definition.schema_ids[join.output.name]
    draft.send(outputs_of(join, schema_id, partition, columns, timestamps_ms))
    return count, fingerprint


def _joined(join: Join, carried_by: Mapping[Side, Mapping[str, ToldColumn]]) -> dict[str, ToldColumn]:
    """The joined records' own columns, as `Join.joined`."""
    columns = dict[str, ToldColumn]()
    for taken in join.columns:
        held = [carried_by[side][name] for side in Side if (name := taken_of(taken, side)) is not None]
        columns[taken.name] = held[0] if len(held) == 1 else first_of(*held)
    return columns

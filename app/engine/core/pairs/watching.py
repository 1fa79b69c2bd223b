"""Alerts: what a batch begins and ends, and what has lasted too long by the watermark (rule 20).

A timer fires at the first offset whose watermark reaches it, before that record is applied, whatever the batch.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import Blobs
from app.codecs.stored.halves import NO_HEADERS, Halves, decode_halves, waiting_values
from app.codecs.weaving import same, spread
from app.domain.pairs.alert import AT_OFFSET, BEGAN_AT, END_ORIGIN, ENDED_AT, START, START_ORIGIN, TOLD_AT, Alert
from app.domain.pairs.join import Side
from app.engine.core.batch import Batch
from app.engine.core.draft import Draft
from app.engine.core.pairs.arrivals import Arrivals, arrivals
from app.engine.core.pairs.changing import forget, keep_walk, pack
from app.engine.core.pairs.loops import watch_halves
from app.engine.core.pairs.telling import ToldColumn, carried, outputs_of, values_of
from app.engine.core.pairs.waiting import waiting_columns
from app.engine.core.pairs.walking import Times, Walk, earlier
from app.engine.core.records.fingerprint import origins
from app.engine.core.records.usable import Usable
from app.engine.core.rows.halves import NONE, SETTLED
from app.engine.core.views.folding import LateFor, note_late, with_fates

UPKEEP_WATCHED = 20_000
"""Most beginnings that leave, or of a side are forgotten, in one transaction of the upkeep."""


def watch_batch(draft: Draft, alert: Alert, batch: Batch, usable: Usable) -> LateFor:
    """Put the usable records of a batch into what the alert watches."""
    before = draft.state.marker.inputs[batch.topic]
    first = Arrivals.nothing(before.next_offset, before.watermark_us)  # what it may not have told of by now
    walk = _walk(draft, alert, arrivals(alert, batch, usable).behind(first))
    waiting = _waiting(alert, usable, walk)
    _tell(draft, alert, walk, waiting)
    keep_walk(draft, alert, walk, waiting)
    fates = walk.fates[len(first) :]
    draft.move_alert(alert.name, with_fates(draft.marker.alerts[alert.name], batch.topic, fates))
    late_for: LateFor = {}
    note_late(late_for, alert.name, usable, fates)
    return late_for


def keep_up(draft: Draft, alert: Alert) -> None:
    """Tell what has waited long enough since the watermark was raised without a record, and forget what is over."""
    if pack(draft, alert):
        return
    held, position = draft.state.halves[alert.name], draft.marker.inputs[alert.topic]
    walk = _walk(draft, alert, Arrivals.nothing(position.next_offset, position.watermark_us), UPKEEP_WATCHED)
    _tell(draft, alert, walk, Blobs.nulls(1))
    keep_walk(draft, alert, walk, Blobs.nulls(1))
    over_us = int(earlier(walk.arrivals.watermarks_us, alert.held_us)[0])
    over = [held.until(over_us, SETTLED, side)[:UPKEEP_WATCHED] for side in range(len(Side))]
    forget(draft, alert, np.concatenate(over))


def _walk(draft: Draft, alert: Alert, came: Arrivals, most: int | None = None) -> Walk:
    over_us = earlier(came.watermarks_us, alert.held_us)
    times = Times(over_us, over_us, over_us, alert.longer_than_us)
    return Walk(alert, draft.state.halves[alert.name], came, watch_halves, times, most)


def _waiting(alert: Alert, usable: Usable, walk: Walk) -> Blobs:
    """Values of the beginnings that count, by their rows in the walk: nothing of a record but what alerts carry."""
    came, begin = walk.arrivals, walk.applied[walk.arrivals.sides[walk.applied] == 0]
    records, none = begin - (len(came) - len(usable)), Blobs.nulls(len(begin))
    halves = Halves(
        waits=np.ones(len(begin), np.bool_),
        at_us=came.at_us[begin],
        ids=came.ids.at(begin),
        timestamps_ms=np.zeros(len(begin), np.int64),
        columns=waiting_columns(alert, usable, came.sides[begin], records),
        keys=none,
        values=none,
        headers=same(NO_HEADERS, len(begin)),
    )
    return spread(waiting_values(halves), begin, len(came))


def _tell(draft: Draft, alert: Alert, walk: Walk, waiting: Blobs) -> None:
    """Send what was told; its Kafka timestamp is the watermark that told it."""
    told = walk.told
    if not len(told.left):
        return
    began_us, ended_us = walk.at_us_of(told.left), walk.at_us_of(told.right)
    ended, always = told.right != NONE, np.ones(len(told.left), np.bool_)
    told_at_us = np.where(ended, walk.arrivals.watermarks_us[told.rows], began_us + alert.held_us)
    starts = decode_halves(walk.values_of(told.left, waiting))
    ids = values_of(alert.starts.source.by_name[alert.starts.id].kind, starts.ids)
    columns: dict[str, ToldColumn] = {
        alert.starts.id: ids,
        BEGAN_AT: (began_us, always),
        ENDED_AT: (ended_us, ended),
        TOLD_AT: (told_at_us, always),
        START_ORIGIN: (_origins(draft, alert, walk.offsets_of(told.left)), always),
        END_ORIGIN: (_origins(draft, alert, walk.offsets_of(told.right)), ended),
        AT_OFFSET: (walk.arrivals.offsets[told.rows], always),
        **carried(alert, START, starts.columns),
    }
    timestamps_ms = -(-told_at_us // 1000)  # not before the instant itself, or it were ahead of its time
    schema_id = draft.definition.schema_ids[alert.output.name]
    draft.send(outputs_of(alert, schema_id, draft.state.partition, columns, timestamps_ms))
    position = draft.marker.alerts[alert.name]
    draft.move_alert(alert.name, replace(position, told=position.told + len(told.left)))


def _origins(draft: Draft, alert: Alert, offsets: Int64s) -> Int64s:
    return origins(alert.starts.source.topic(alert.topic).number, draft.state.partition, offsets)

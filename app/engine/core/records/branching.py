"""Branches: usable records sent on by their amount, as they came, with where they stood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.batches.carrying import carried
from app.codecs.batches.origin_headers import stood
from app.domain.branch import Branch
from app.domain.records import Place
from app.engine.core.batch import Batch, MadeOutputs, Output
from app.engine.core.draft import Draft
from app.engine.core.records.usable import Usable


def branch_batch(draft: Draft, branches: Sequence[Branch], batch: Batch, usable: Usable) -> None:
    """Send each usable record of the batch on once for every branch over its source, in offset order.

    It keeps its bytes, headers, Kafka timestamp and partition; one that is too large goes on without its value.
    """
    for branch in branches:
        reaches = _reaches(branch, usable)
        topics = np.where(reaches, branch.high, branch.low).tolist()
        draft.send(_sent_on(batch, usable.index, topics))
        position, high = draft.marker.branches[branch.name], int(reaches.sum())
        moved = replace(position, high=position.high + high, low=position.low + len(topics) - high)
        draft.move_branch(branch.name, moved)


def _sent_on(batch: Batch, index: Int64s, topics: Sequence[str]) -> MadeOutputs:
    """Records at some places of a batch, each to its topic."""

    def make(nth: int) -> Output:
        at = index[nth]
        place, timestamp_ms = Place(batch.topic, batch.partition, batch.offsets[at]), int(batch.timestamps_ms[at])
        ours = stood(place, timestamp_ms)
        sent = carried(batch.keys[at], batch.values[at], batch.headers[at], ours, beginning=False)
        return Output(topics[nth], *sent, batch.partition, timestamp_ms)

    return MadeOutputs(len(index), make)


def _reaches(branch: Branch, usable: Usable) -> npt.NDArray[np.bool_]:
    """Which records have an amount of the threshold or more; of its columns the first that is not null counts."""
    reaches = np.zeros(len(usable), np.bool_)
    for name in reversed(branch.columns):
        cells = usable.column(name)
        reaches = np.where(cells.present, cells.values[0] >= branch.threshold, reaches)
    return reaches

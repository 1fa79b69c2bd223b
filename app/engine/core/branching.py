"""Branches: usable records sent on by their amount, as they came, with where they stood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import overload

import numpy as np
import numpy.typing as npt

from app.codecs.carrying import carried
from app.codecs.changelog import Int64s
from app.codecs.origin_headers import OFFSET, PARTITION, TIMESTAMP_MS, TOPIC
from app.domain.branch import Branch
from app.engine.core.batch import Batch, Output
from app.engine.core.draft import Draft
from app.engine.core.usable import Usable


class SentOn(Sequence[Output]):
    """Records of a batch on their way to branches, each made when it is asked for: the loop has its turns meanwhile."""

    def __init__(self, batch: Batch, index: Int64s, topics: Sequence[str]) -> None:
        """`index`: their places in the batch; `topics`: where each goes."""
        self._batch, self._index, self._topics = batch, index, topics
        self._stood = ((TOPIC, batch.topic.encode()), (PARTITION, str(batch.partition).encode()))

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, at: int) -> Output: ...
    @overload
    def __getitem__(self, at: slice) -> SentOn: ...
    def __getitem__(self, at: int | slice) -> Output | SentOn:
        if isinstance(at, slice):
            return SentOn(self._batch, self._index[at], self._topics[at])
        batch, i = self._batch, self._index[at]
        timestamp_ms = int(batch.timestamps_ms[i])
        stood = ((OFFSET, str(batch.offsets[i]).encode()), (TIMESTAMP_MS, str(timestamp_ms).encode()))
        ours = (*self._stood, *stood)
        sent = carried(batch.keys[i], batch.values[i], batch.headers[i], ours, beginning=False)
        return Output(self._topics[at], *sent, batch.partition, timestamp_ms)


def branch_batch(draft: Draft, branches: Sequence[Branch], batch: Batch, usable: Usable) -> None:
    """Send each usable record of the batch on once for every branch over its source, in offset order.

    It keeps its bytes, headers, Kafka timestamp and partition; one that is too large goes on without its value.
    """
    for branch in branches:
        reaches = _reaches(branch, usable)
        topics = np.where(reaches, branch.high, branch.low).tolist()
        draft.sent_on.append(SentOn(batch, usable.index, topics))
        position, high = draft.marker.branches[branch.name], int(reaches.sum())
        moved = replace(position, high=position.high + high, low=position.low + len(topics) - high)
        draft.move_branch(branch.name, moved)


def _reaches(branch: Branch, usable: Usable) -> npt.NDArray[np.bool_]:
    """Which records have an amount of the threshold or more; of its columns the first that is not null counts."""
    reaches = np.zeros(len(usable), np.bool_)
    for name in reversed(branch.columns):
        cells = usable.column(name)
        reaches = np.where(cells.present, cells.values[0] >= branch.threshold, reaches)
    return reaches

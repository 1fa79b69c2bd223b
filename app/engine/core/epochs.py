"""Rules that changed while the stream went on, as a task's core obeys them (rule 13).

A task takes new rules over at its position, so what it folds is judged by the last epoch of each topic. Only what is
read again lies in earlier ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from app.domain.event_time import NO_WATERMARK
from app.domain.rules.epochs import GraceEpoch, SkewEpoch
from app.domain.view import View
from app.engine.core.batch import Batch
from app.engine.core.records.usable import Usable


def seen_by(
    view: View, graces: Mapping[str, Sequence[GraceEpoch]], topics: Sequence[tuple[str, int]], usable: Usable
) -> Usable:
    """The records with the watermarks by which the view judges; `topics` name those they are of, and how many each."""
    floors_us = [graces[topic][-1].floor_us if graces.get(topic) else NO_WATERMARK for topic, _ in topics]
    if all(floor_us == NO_WATERMARK for floor_us in floors_us):
        return usable
    lowest_us = [floor_us if floor_us == NO_WATERMARK else floor_us + view.grace_us for floor_us in floors_us]
    lifted_us = np.repeat(np.array(lowest_us, np.int64), [count for _, count in topics])
    return replace(usable, watermarks_us=np.maximum(usable.watermarks_us, lifted_us))


def of_one_skew(batch: Batch, skews: Sequence[SkewEpoch]) -> Batch:
    """The batch as far as one epoch of its source reaches."""
    return batch.until(
        min((e.from_offset for e in skews if e.from_offset > batch.base_offset), default=batch.next_offset)
    )

"""What is slow once is done before the group is joined, so that no query has to wait for it later."""

from __future__ import annotations

import gc
from collections.abc import Iterable

import numpy as np

from app.codecs.blobs import Blobs
from app.domain.marker import InputPosition
from app.engine.core.batch import Batch
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore

GARBAGE_AFTER = 20_000
"""Objects made before the youngest are looked through; Python's 700 are those of a hundred rows."""


def warm_up(definitions: Iterable[TaskDefinition]) -> None:
    """Fold a batch without records in each group, on a state of its own; then leave all that is here now alone.

    A full collection of a worker's modules takes 100 ms and finds nothing; batches make enough objects to bring one
    about every few seconds. What is frozen is not looked through any more.
    """
    for definition in definitions:
        inputs = {topic: InputPosition("", 0, 0) for topic in definition.topics}
        core = TaskCore(definition, new_state(definition, 0, inputs))
        joint = [_without_records(topic) for topic in sorted(definition.joint_topics)]
        others = [[_without_records(topic)] for topic in definition.topics if topic not in definition.joint_topics]
        for batches in [joint, *others]:
            transaction = core.plan(core.read(batches, {}))
            if transaction is not None:
                core.commit(transaction, 0)
    gc.collect()
    gc.freeze()
    gc.enable()  # where the command had it wait
    gc.set_threshold(GARBAGE_AFTER)


def _without_records(topic: str) -> Batch:
    none = np.empty(0, np.int64)
    return Batch(topic, 0, 0, 1, none, none, [], Blobs.of([]), [])

"""Cores of tasks over histories: begun new, run through batches, and the rows that they then hold."""

from __future__ import annotations

import random

from app.codecs.stored.row_keys import decode_key
from app.domain.marker import InputPosition
from app.domain.rows import RowKey
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from tests.support.material.histories import SCHEMAS, Log, random_splits
from tests.support.material.views import ALL_VIEWS


def new_core(partition: int, views: tuple[View, ...] = ALL_VIEWS) -> TaskCore:
    definition = TaskDefinition("flagfall", (RIDES,), views)
    inputs = {topic: InputPosition("id", 0, 0) for topic in definition.topics}
    return TaskCore(definition, new_state(definition, partition, inputs))


def rows_of(core: TaskCore, view: View) -> dict[RowKey, tuple[int, ...]]:
    state = core.state.views[view.name]
    keys, _ = state.stored()
    cells = state.select().cells
    return {decode_key(view, key): tuple(int(c) for c in row) for key, row in zip(keys, cells, strict=True)}


def run(core: TaskCore, logs: list[Log], rng: random.Random) -> None:
    for log in logs:
        for base, until in random_splits(rng, log.next_offset):
            transaction = core.plan(core.read([log.batch(base, until)], SCHEMAS))
            assert transaction is not None
            core.commit(transaction, marker_offset=0)

"""A random history: what the worker's core keeps of it, and what it should be by the rules."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.codecs.stored.changelog import BlockKey, decode_block, encode_block
from app.domain.difference import RowPlace
from app.domain.naming.accused import RowRecords
from app.domain.naming.blocks import BlockPlace
from app.domain.rows import Cells
from app.domain.view import View
from app.engine.core.task import TaskCore
from app.engine.core.views.again import row_again
from tests.support.material.histories import TOPIC_NAMES, random_log
from tests.support.material.views import ALL_VIEWS
from tests.support.naming.plain import PlainEvidence
from tests.support.tasks.cores import new_core, rows_of, run

PARTITIONS = (0, 1)
TOPICS = TOPIC_NAMES[:2]
VIEWS_AT_ONCE = 6
SHARE_WITH_BLOCKS = 0.5
"""Of tables beside which the worker's blocks are known."""
MOST_RECORDS = (5, 20, 60, 90)
"""Of a topic-partition."""


@dataclass
class Table:
    """One view of a history. `live` and `changelog` are as the worker left them, until a fault is planted."""

    view: View
    evidence: PlainEvidence
    recomputed: dict[RowPlace, Cells]
    live: dict[RowPlace, Cells]
    changelog: dict[RowPlace, Cells]
    used: set[RowPlace] = field(default_factory=set)
    """Rows that have their fault."""

    def store(self, place: RowPlace, cells: Cells | None) -> None:
        """What both stored sides hold from now on."""
        for side in (self.live, self.changelog):
            if cells is None:
                side.pop(place, None)
            else:
                side[place] = cells

    def held(self, place: RowPlace) -> RowRecords:
        return self.evidence.held.get(place, RowRecords(()))


def tables_of(rng: random.Random) -> list[Table]:
    """Some views over one history, none of them spoilt."""
    views = tuple(rng.sample(ALL_VIEWS, VIEWS_AT_ONCE))
    counts = [rng.choice(MOST_RECORDS) for _ in PARTITIONS for _ in TOPICS]
    places = [(topic, partition) for partition in PARTITIONS for topic in TOPICS]
    logs = [random_log(rng, *place, count) for place, count in zip(places, counts, strict=True)]
    cores = {partition: new_core(partition, views) for partition in PARTITIONS}
    for partition, core in cores.items():
        run(core, [log for log in logs if log.partition == partition], rng)
    records = [record for log in logs for record in log.records]
    tables = []
    for view in views:
        stored = {(task, key): cells for task, core in cores.items() for key, cells in rows_of(core, view).items()}
        evidence = PlainEvidence.of_log(view, records)
        evidence.translator = row_again
        if rng.random() < SHARE_WITH_BLOCKS:
            evidence.blocks = {place: total for core in cores.values() for place, total in _blocks(core, view)}
        tables.append(Table(view, evidence, evidence.rows, dict(stored), dict(stored)))
    return tables


def _blocks(core: TaskCore, view: View) -> Iterator[tuple[BlockPlace, tuple[int, int]]]:
    """What the worker says that it applied."""
    for key, (count, fingerprint) in core.state.blocks.items():
        block, *_ = decode_block(key, encode_block(BlockKey(0, "00000000", 0, 0), count, fingerprint)[1])
        if (block.view_number, block.version) == (view.number, view.version):
            yield BlockPlace(block.topic_number, core.state.marker.partition, block.block), (count, fingerprint)

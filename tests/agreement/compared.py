"""Random histories over every kind of view, on which worker, Spark and the naive fold must agree.

Each history is two tasks over three topics, with all the dirt of `tests.support.material.histories`: disorder,
duplicates, stray years, damage, offsets without a record, watermarks that were raised on idle topic-partitions. The
worker's core reads it in random batches, is killed between any two of them, and goes on from its changelog. Spark
takes many histories at once, as tasks beside each other.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from app.codecs.stored.row_keys import decode_key
from app.domain.advance import Advance
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition
from app.domain.oracle.view_fold import Folded, fold
from app.domain.records import Record
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer, new_state
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from spark_batch.folds.corrections import ToldCorrections
from spark_batch.folds.recount import counted, recount
from spark_batch.source.read_source import read_source
from spark_batch.source.watermark import with_watermark
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.row_frames import cells_of, key_of
from tests.support.material.histories import SCHEMAS, TOPIC_NAMES, Log, random_advances, random_log
from tests.support.material.views import ALL_VIEWS, SHIFTS
from tests.support.spark_logs import as_kafka
from tests.support.tasks.batches import as_batches

TASKS = 2
"""Of each history; Spark sees those of history i as tasks 2i and 2i + 1."""
TOPICS = TOPIC_NAMES[:3]
MOST_RECORDS = 120
KILLED = 0.15
"""How likely the worker is killed behind a batch."""
NEVER_SECONDS = 10**9
"""Nothing expires, so that whole tables are compared."""
VIEWS = tuple(replace(view, retention_seconds=NEVER_SECONDS) for view in (*ALL_VIEWS, SHIFTS))
DEFINITION = TaskDefinition("agreement", (RIDES,), VIEWS)

Rows = dict[tuple[int, RowKey], Cells]


@dataclass
class History:
    """Logs of both tasks, watermarks raised, and what differs: in words, none if all agree."""

    seed: int
    logs: list[Log]
    advances: list[Advance]
    differences: list[str]
    figures: int = 0

    @property
    def records(self) -> list[Record]:
        return [record for log in self.logs for record in log.records]

    def folded(self, view: View) -> Folded:
        return fold(view, self.records, self.advances)

    def compare(self, who: str, view: View, found: object, expected: object, what: str) -> None:
        if found != expected:
            self.differences.append(f"{view.name}: {who} has other {what} than the fold")


def history_of(seed: int, number: int) -> History:
    """The history of a seed, as tasks that no other number has."""
    rng = random.Random(seed)
    partitions = [number * TASKS + task for task in range(TASKS)]
    counts = [rng.choice((0, 5, 30, MOST_RECORDS)) for _ in range(TASKS * len(TOPICS))]
    places = [(topic, partition) for topic in TOPICS for partition in partitions]
    logs = [random_log(rng, *place, count) for place, count in zip(places, counts, strict=True)]
    return History(seed, logs, random_advances(rng, logs), [])


def check_worker(history: History) -> None:
    """The worker's core, killed now and then, against the fold."""
    rng = random.Random(history.seed + 1)
    by_task: dict[int, list[Log]] = {}
    for log in history.logs:
        by_task.setdefault(log.partition, []).append(log)
    cores = {task: _run(task, logs, history.advances, rng) for task, logs in by_task.items()}
    for view in VIEWS:
        folded = history.folded(view)
        history.compare("the worker", view, _rows_of(cores, view), _rows(folded), "rows")
        fates = [f for core in cores.values() for f in core.state.marker.views[view.name].fates.values()]
        history.compare("the worker", view, _totals(fates), _fates(folded), "fates")
        history.figures += len(_rows(folded))


def check_spark(spark: SparkSession, histories: Sequence[History], folder: Path) -> None:
    """Spark's recomputation of all these histories against their folds."""
    logs = [log for history in histories for log in history.logs]
    advances = [advance for history in histories for advance in history.advances]
    records = read_source(as_kafka(spark, logs), RIDES, SCHEMAS, folder)
    marked = with_watermark(records, RIDES, advances).cache()
    by_task = {log.partition: history for history in histories for log in history.logs}
    for view in VIEWS:
        own = recount(view, _cuts(view, by_task, logs), marked, ToldCorrections("none", ()))
        found: dict[int, Rows] = {history.seed: {} for history in histories}
        for row in own.rows.collect():
            found[by_task[row["task"]].seed][row["task"], key_of(view, row)] = cells_of(view, row)
        fates: dict[int, list[Fates]] = {history.seed: [] for history in histories}
        for place, figures in counted(own).items():
            fates[by_task[place.partition].seed].append(figures.fates)
        for history in histories:
            folded = history.folded(view)
            history.compare("Spark", view, found[history.seed], _rows(folded), "rows")
            history.compare("Spark", view, _totals(fates[history.seed]), _fates(folded), "fates")
    marked.unpersist()


def _run(task: int, logs: Sequence[Log], advances: Iterable[Advance], rng: random.Random) -> TaskCore:
    """The core of a task after all its logs, taken over anew from its changelog after each kill."""
    inputs = {topic: InputPosition("id", 0, 0) for topic in DEFINITION.topics}
    core = TaskCore(DEFINITION, new_state(DEFINITION, task, inputs))
    written: list[tuple[bytes, bytes | None]] = []
    for log in logs:
        raised = {a.at_offset: a for a in advances if (a.topic, a.partition) == (log.topic, log.partition)}
        for base, until in _cut(rng, log.next_offset, raised):
            advanced = core.advance(log.topic, raised[base].watermark_us) if base in raised else None
            planned = [advanced] if advanced is not None else []
            for transaction in planned:
                core.commit(transaction, 0)
                written += transaction.changelog
            if base < until and (transaction := core.plan(core.read([log.batch(base, until)], SCHEMAS))) is not None:
                core.commit(transaction, 0)
                written += transaction.changelog
            if written and rng.random() < KILLED:
                core = _taken_over(task, written, inputs, rng)
    return core


def _cut(rng: random.Random, length: int, at: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Batches that cover `[0, length)`, one of them beginning at each of these offsets; an empty one at the end."""
    ends = sorted({*at, *(rng.randrange(length) for _ in range(length // 9)), 0, length} if length else {*at, 0})
    yield from zip(ends, [*ends[1:], ends[-1]], strict=True)


def _taken_over(
    task: int, written: list[tuple[bytes, bytes | None]], inputs: dict[str, InputPosition], rng: random.Random
) -> TaskCore:
    restorer = Restorer(DEFINITION)
    for batch in as_batches(written, rng):
        restorer.read(batch)
    return TaskCore(DEFINITION, restorer.finish(inputs, task))


def _cuts(view: View, tasks: Iterable[int], logs: Sequence[Log]) -> list[TaskCut]:
    cuts = []
    for task in tasks:
        inputs = {log.topic: InputPosition("i", 0, log.next_offset) for log in logs if log.partition == task}
        position = ViewPosition(view.number, view.version)
        cuts.append(TaskCut.of(view, task, Marker("a", 1, task, 1, inputs, {view.name: position}), 0))
    return cuts


def _rows_of(cores: dict[int, TaskCore], view: View) -> Rows:
    rows: Rows = {}
    for task, core in cores.items():
        state = core.state.views[view.name]
        keys, _ = state.stored()
        cells = state.select().cells.tolist()
        rows |= {(task, decode_key(view, key)): tuple(row) for key, row in zip(keys, cells, strict=True)}
    return rows


def _rows(folded: Folded) -> Rows:
    return {(task, key): cells for task, held in folded.rows.items() for key, cells in held.items()}


def _fates(folded: Folded) -> tuple[int, int, int]:
    return len(folded.applied), len(folded.late), len(folded.out_of_scope)


def _totals(fates: Iterable[Fates]) -> tuple[int, int, int]:
    held = list(fates)
    return sum(f.applied for f in held), sum(f.late for f in held), sum(f.out_of_scope for f in held)

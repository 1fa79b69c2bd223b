"""Where tasks stand: their rows, as a worker exports them, and what corrections have added, as the tasks told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import OFFSET_BEGINNING

from app.base import names
from app.base.asking import Unanswered
from app.base.exported import exported
from app.base.kafka.clients import librdkafka_options
from app.base.kafka.committed import committed
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.codecs.stored.corrections import CorrectionOutcome, read_outcome
from app.codecs.stored.export import read_export
from app.domain.corrections.refeed import ViewStanding
from app.domain.errors import FlagfallError
from app.domain.marker import Marker
from app.domain.measures.parts import Op, Take
from app.domain.records import Place
from app.domain.rows import Cells, RowKey
from app.domain.view import WINDOW_NAME, View


class TaskUnknown(FlagfallError):
    """It cannot be told where a task stands; the text says why, and what to do."""


class Outcomes:
    """What became of every correction of a group, read on from where the last look ended."""

    def __init__(self, settings: Settings, group: str) -> None:
        self._client = librdkafka_options(settings.kafka)
        self.topic = names.corrections_topic(settings.app_id, group)
        self._told_in = names.corrected_topic(settings.app_id)
        self._next = defaultdict[int, int](lambda: OFFSET_BEGINNING)
        self._judged = defaultdict[int, list[int]](list)
        self._added = defaultdict[tuple[int, str], dict[Place, int]](dict)

    def new(self, partition: int) -> Iterator[CorrectionOutcome]:
        """What was told of one task's corrections since the last look."""
        for message in committed(self._client, self._told_in, partition, self._next[partition]):
            self._next[partition] = message.offset() + 1
            outcome = read_outcome(message.value())
            if outcome is not None and outcome.topic == self.topic:
                self._note(outcome)
                yield outcome

    def added(self, view: View, marker: Marker) -> frozenset[Place]:
        """The records that corrections have added to a view in a task since it began. TaskUnknown if some outcomes are
        missing."""
        for _ in self.new(marker.partition):
            pass
        judged = marker.position_in(self.topic)
        told = sum(offset < judged.next_offset for offset in self._judged[marker.partition])
        if told != judged.decoded:
            raise TaskUnknown(
                f"{self._told_in}-{marker.partition} tells of {told} corrections where the task has judged "
                f"{judged.decoded}: it cannot be known which records were added. Outcomes must be kept for ever"
            )
        position = marker.views[view.name]
        added = self._added[marker.partition, view.version]
        return frozenset(place for place, offset in added.items() if offset >= position.corrected_from)

    def _note(self, outcome: CorrectionOutcome) -> None:
        self._judged[outcome.partition].append(outcome.offset)
        if outcome.why is None:
            correction = outcome.correction
            added = self._added[outcome.partition, correction.version]
            added.update(dict.fromkeys(correction.adds, outcome.offset))


class Task(NamedTuple):
    """A task's marker, and the sums of a view's cells over all its rows."""

    marker: Marker
    sums: dict[str, int]


def task(worker: WorkerDoor, view: View, partition: int) -> Task:
    """Where a task stands with a view. Raises TaskUnknown."""
    marker, table = _exported(worker, view, partition)
    return Task(marker, {cell: pc.sum(table[cell]).as_py() or 0 for cell in adding_up(view)})


def adding_up(view: View) -> list[str]:
    """The cells whose sums over rows mean something."""
    return [
        cell for part in view.parts if part.op is Op.ADD and part.take is not Take.FINGERPRINT for cell in part.cells
    ]


def standing(
    worker: WorkerDoor, outcomes: Outcomes, view: View, partition: int, windows: Collection[int]
) -> ViewStanding:
    """Rows of these windows with the marker they stand at, and what was added.

    The rows are fetched first: every correction in them is told of by then, and one that follows changes the row
    that a plan expects. Raises TaskUnknown.
    """
    marker, table = _exported(worker, view, partition)
    return ViewStanding(marker, _rows(view, table, windows), outcomes.added(view, marker))


def _exported(worker: WorkerDoor, view: View, partition: int) -> tuple[Marker, pa.Table]:
    try:
        metadata, table = read_export(exported(worker, view.name, partition))
    except Unanswered as error:
        raise TaskUnknown(f"{error}; is a worker running? --worker names another") from error
    position = metadata.marker.views.get(view.name)
    if position is None or position.version != view.version:
        raise TaskUnknown(f"the worker at {worker.url} keeps another version of {view.name}: run the worker's release")
    return metadata.marker, table


def _rows(view: View, table: pa.Table, windows: Collection[int]) -> dict[RowKey, Cells]:
    wanted = table.filter(pc.is_in(table[WINDOW_NAME], pa.array(sorted(windows), pa.int64())))
    columns = [wanted[name].to_pylist() for name in wanted.column_names]
    groups = 1 + len(view.groups)
    return {RowKey(row[0], row[1:groups]): row[groups:] for row in zip(*columns, strict=True)}

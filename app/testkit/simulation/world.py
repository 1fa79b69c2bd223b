"""Plays a history (`app.testkit.simulation.script`) on a simulated cluster, with workers that know nothing of it."""

from __future__ import annotations

import random
from functools import singledispatchmethod
from itertools import islice

from app.base import names
from app.codecs.stored.advances import read_advance
from app.codecs.stored.changelog import decode_rows, marker_key
from app.codecs.stored.marker import decode_marker
from app.codecs.stored.row_keys import decode_key, row_prefix
from app.domain.advance import Advance
from app.domain.errors import FlagfallError
from app.domain.marker import Marker
from app.domain.rows import Cells, RowKey
from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import PartitionLog
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.releases import alert_over, branch_over, join_over
from app.testkit.simulation import steps as s
from app.testkit.simulation.inputs import Inputs
from app.testkit.simulation.parcels import PARCELS, RECEIPTS
from app.testkit.simulation.ruled import ruled_source, ruled_views
from app.testkit.simulation.samples import WRITTEN_IDS
from app.testkit.simulation.script import INPUT_PRODUCERS, WORKERS, Script
from app.testkit.simulation.sent_on import WEIGHED
from app.testkit.simulation.widening import widen
from app.testkit.simulation.workers import Workers

APPLICATION = "simulated"


class HistoryFailed(FlagfallError):
    """A history did not go as the rules say."""


class World:
    """The cluster, its workers and its input at one moment of a history.

    `markers`: committed markers by task and sequence, as far as `note_markers` has seen them.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.broker = Broker(script.partitions)
        for (topic, partition), start in script.starts.items():
            self.broker.begin_at(topic, partition, start)
        self.inputs = Inputs(self.broker)
        self._views: tuple[View, ...] = script.views
        self._rules: s.NewRules | None = None
        self._partitions = script.partitions
        self.workers = Workers(self.broker, self._defined())
        self.markers: dict[int, dict[int, Marker]] = {p: {} for p in range(script.partitions)}

    @property
    def definition(self) -> TaskDefinition:
        """That of the present release."""
        return self.workers.definition

    def play(self, step: s.Step) -> None:
        """Let one step happen; one that has nothing to act on does nothing."""
        if s.partition_of(step) < self.broker.partitions:
            self._play(step)

    @singledispatchmethod
    def _play(self, step: s.Step) -> None:
        raise TypeError(f"not a step: {step!r}")

    @_play.register
    def _(self, step: s.Produce) -> None:
        self.inputs.produce(step)

    @_play.register
    def _(self, step: s.EndInput) -> None:
        self.inputs.end_transaction(step.producer, step.commits)

    @_play.register
    def _(self, step: s.Request) -> None:
        self.inputs.request(self.definition.advance_requests, step)

    @_play.register
    def _(self, step: s.Correct) -> None:
        topic = names.corrections_topic(APPLICATION, self.definition.name)
        self.inputs.correct(topic, step, self._stored(step.view, step.partition))

    @_play.register
    def _(self, step: s.Idle) -> None:
        self.workers.advance_idle(step.worker, step.partition, step.watermark_us)

    @_play.register
    def _(self, step: s.Assign) -> None:
        self.workers.assign(step.worker, step.partition, told=step.told)

    @_play.register
    def _(self, step: s.Run) -> None:
        self.workers.run(step.worker, step.partition, step.calls, step.draws)

    @_play.register
    def _(self, step: s.Kill) -> None:
        self.workers.kill(step.worker)

    @_play.register
    def _(self, step: s.Deploy) -> None:
        self._views = step.views
        self.workers.definition = self._defined()

    @_play.register
    def _(self, step: s.NewRules) -> None:
        self._rules = step
        self.workers.definition = self._defined()

    @_play.register
    def _(self, step: s.Widen) -> None:
        if step.partitions <= self.broker.partitions:
            return
        for worker in WORKERS:
            self.workers.kill(worker)
        self._partitions = step.partitions
        self.workers.definition = self._defined()
        for marker in (*islice(widen(self.broker, self.definition), step.breaks), *widen(self.broker, self.definition)):
            self.workers.idle_advances_us |= {at.watermark_us for at in marker.inputs.values()}
        self.workers.tally["tasks added"] += step.partitions - len(self.markers)
        self.markers |= {p: {} for p in range(len(self.markers), step.partitions)}

    @_play.register
    def _(self, step: s.Compact) -> None:
        """Tombstones go as well, unless somebody may still have to read them."""
        self.note_markers(step.partition)
        log = self.changelog(step.partition)
        log.compact(log.end - step.spare, tombstones=not self.workers.are_readers_of(step.partition))

    @_play.register
    def _(self, step: s.Delete) -> None:
        self.note_markers(step.place.partition)
        noted = self.markers[step.place.partition]
        if noted:
            folded = noted[max(noted)].inputs[step.place.topic].next_offset
            self.broker.log(*step.place).delete_below(folded - step.spare)

    @_play.register
    def _(self, step: s.TimeOut) -> None:
        self.broker.time_out(self._transactional_id(step.partition))

    @_play.register
    def _(self, step: s.WriteControl) -> None:
        self.broker.mark_one(self._transactional_id(step.partition))

    @_play.register
    def _(self, step: s.Look) -> None:
        """Changes nothing; see `app.testkit.checks.verdict`."""

    def settle(self) -> list[SimulatedTask]:
        """End what is open, and let a new worker fold all that is left; gives its tasks by partition."""
        draws = random.Random(self.script.seed)
        for producer in INPUT_PRODUCERS:
            self.inputs.end_transaction(producer, draws.random() < 0.5)
        return self.taken_over(draws)

    def taken_over(self, draws: random.Random) -> list[SimulatedTask]:
        """All tasks on a new worker, with nothing left to do: one may have work for another."""
        tasks = [self.workers.new_task(partition, draws) for partition in range(self.broker.partitions)]
        for task in tasks:
            task.sizes = (1000,)
        run_until_idle(tasks)
        for partition in range(self.broker.partitions):
            self.note_markers(partition)
        return tasks

    def changelog(self, partition: int) -> PartitionLog:
        return self.broker.log(names.changelog_topic(APPLICATION, PARCELS.name), partition)

    def advances(self) -> list[Advance]:
        """What the tasks say they did about watermarks, as soon as it is committed: an input of every recomputation."""
        topic = names.advances_topic(APPLICATION)
        logs = (self.broker.log(topic, partition) for partition in range(self.broker.partitions))
        records = (entry.record for log in logs for entry in log.entries if entry.is_committed)
        told = (read_advance(record.value) for record in records if record is not None)
        return list(filter(None, told))

    def note_markers(self, partition: int) -> None:
        """Keep the task's committed markers, by sequence, before compaction forgets them."""
        noted, key = self.markers[partition], marker_key(PARCELS.number)
        for entry in self.changelog(partition).entries:
            if entry.is_committed and entry.record is not None and entry.record.key == key:
                marker = decode_marker(entry.record.value or b"")
                if noted.setdefault(marker.sequence, marker) != marker:
                    raise HistoryFailed(f"task {partition}: two committed transactions are number {marker.sequence}")

    def _stored(self, view: View, partition: int) -> list[tuple[RowKey, Cells]]:
        """The rows of a view that a reader of the changelog knows now, by key."""
        rows: dict[bytes, bytes] = {}
        for entry in self.changelog(partition).committed():
            if entry.record is not None and (key := entry.record.key or b"").startswith(row_prefix(view)):
                if entry.record.value is None:
                    rows.pop(key, None)
                else:
                    rows[key] = entry.record.value
        keys = sorted(rows)
        cells = decode_rows([rows[key] for key in keys], len(view.cells))
        return [(decode_key(view, key), tuple(row.tolist())) for key, row in zip(keys, cells, strict=True)]

    def _defined(self) -> TaskDefinition:
        """The present release's."""
        declared = (PARCELS, RECEIPTS) if self.script.receipts else (PARCELS,)
        sources = {source.name: ruled_source(source, self._rules) for source in declared}
        return TaskDefinition(
            APPLICATION,
            tuple(sources.values()),
            ruled_views(self._views, self._rules),
            tuple(join_over(join, sources) for join in self.script.joins),
            tuple(view.name for view in self._views if view.name in self.script.finals),
            self._partitions,
            WRITTEN_IDS,
            (branch_over(WEIGHED, sources),) if self.script.branches else (),
            tuple(alert_over(alert, sources) for alert in self.script.alerts),
        )

    def _transactional_id(self, partition: int) -> str:
        return names.transactional_id(APPLICATION, PARCELS.name, partition)

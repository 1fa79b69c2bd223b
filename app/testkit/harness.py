"""Views, joins and alerts of your own, tested without a broker.

Records go in, and what a worker would hold and send comes out:

    shop = Harness(views=[REVENUE])
    shop.send("sales", {"sale_id": "s1", "shop": "north", "sold_at_us": 0, "cents": 250})
    assert shop.rows(REVENUE) == [{"window_start_us": 0, "shop": "north", "revenue": 250}]

The worker's own task core does the work, over a simulated cluster, and every call returns when nothing is left to do.
Time is yours: it moves by the records' own instants, and by `advance_watermark`. See docs/testkit.md.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.base import names
from app.codecs.batches.origin_headers import SHORTENED
from app.codecs.batches.record_headers import Headers
from app.domain.branch import Branch
from app.domain.marker import Marker
from app.domain.oracle.view_fold import by_window
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.pairs.pairing import Pairing
from app.domain.records import Place, TopicPartition, Value
from app.domain.rows import Cells, RowKey
from app.domain.source import Source
from app.domain.view import View
from app.engine.core.task_state import TaskState
from app.testkit import received
from app.testkit.admission import HarnessError, require_partition, sendable
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import PartitionLog, SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.declared import declared
from app.testkit.received import Late, Quarantined, Unmatched

__all__ = ["Harness", "HarnessError"]

ShownRow = dict[str, Any]


class Harness:
    """One worker that owns all tasks of the sources that the views, joins, alerts and branches read.

    `finals`: views that publish a final row per window; what `branches` send on, `records` gives. `partitions`: of
    every topic, and so the number of tasks. `broker`: one that holds what another worker left, of as many.
    DefinitionError if the definitions do not fit together.
    """

    def __init__(
        self,
        views: Sequence[View] = (),
        joins: Sequence[Join] = (),
        finals: Sequence[View] = (),
        *,
        alerts: Sequence[Alert] = (),
        branches: Sequence[Branch] = (),
        partitions: int = 1,
        application: str = "test",
        broker: Broker | None = None,
    ) -> None:
        self._declared = declared(views, joins, finals, alerts, branches, partitions, application)
        self._broker = broker or Broker(partitions)
        self._tasks: list[SimulatedTask] = []
        self.restart()

    @property
    def sources(self) -> tuple[Source, ...]:
        """Those that its tasks read."""
        return self._declared.definition.sources

    def send(
        self,
        topic: str,
        values: Mapping[str, Value],
        *,
        key: bytes | None = None,
        partition: int = 0,
        timestamp_ms: int | None = None,
        headers: Headers = (),
    ) -> int:
        """Send a record, and let it be folded; gives its offset.

        Nullable columns may be left out. `timestamp_ms` is Kafka's own; if it is not told the record is punctual.
        RecordError if the values do not fit the topic's source.
        """
        record = self._declared.record(topic, values, key, timestamp_ms, headers)
        return self._produce(topic, partition, [record])[0]

    def send_all(self, topic: str, records: Sequence[Mapping[str, Value]], *, partition: int = 0) -> list[int]:
        """Send punctual records, which the task is given as one batch; gives their offsets."""
        return self._produce(topic, partition, [self._declared.record(topic, values) for values in records])

    def send_bytes(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        partition: int = 0,
        timestamp_ms: int = 0,
        headers: Headers = (),
    ) -> int:
        """Send these very bytes, whatever they are; gives their offset."""
        self._declared.source_of(topic)
        return self._produce(topic, partition, [SentRecord(key, value, headers, timestamp_ms)])[0]

    def advance_watermark(self, topic: str, watermark_us: int, *, partition: int = 0) -> None:
        """Raise a watermark without a record, as `flagfall advance` does. It never goes back."""
        self._require(partition)
        request = self._declared.advance_request(topic, partition, watermark_us)
        self._produce(self._declared.definition.advance_requests, partition, [request])

    def correct(self, document: Mapping[str, Any], *, partition: int = 0) -> ShownRow:
        """Send a correction (docs/formats.md) and give what became of it; HarnessError if it cannot even be read."""
        corrections, outcomes = self._topic_of_group(names.corrections_topic), self._topic(names.corrected_topic)
        there = len(self.records(outcomes))
        self._produce(corrections, partition, [SentRecord(None, json.dumps(document).encode())])
        told = self.records(outcomes)[there:]
        if not told:
            raise HarnessError(f"no correction: {document}")
        return dict(json.loads(told[0].value or b""))

    def restart(self, *, compact: bool = False, views: Sequence[View] | None = None) -> None:
        """Kill the worker and start another, which has nothing but the changelog; `compact` that one before.

        `views`: those of the new one's release, over the same sources: more, fewer, with another grace or skew.
        """
        if views is not None:
            self._declared = self._declared.released(views)
        if compact:
            for partition in range(self._broker.partitions):
                log = self._changelog(partition)
                log.compact(log.end, tombstones=True)
        definition, schemas = self._declared.definition, self._declared.schemas
        self._tasks = [
            SimulatedTask(self._broker, definition, partition, schemas, random.Random(partition))
            for partition in range(self._broker.partitions)
        ]
        for task in self._tasks:
            task.sizes = (100_000,)
        run_until_idle(self._tasks)

    def rows(self, view: View, *, partition: int | None = None) -> list[ShownRow]:
        """A view's rows as a query shows them, by window and group; of one task, or all tasks' rows merged."""
        merged = by_window(view, self.cells(view, partition=partition))
        return [received.shown(view, key, merged[key]) for key in sorted(merged, key=received.in_order)]

    def cells(self, view: View, *, partition: int | None = None) -> dict[RowKey, Cells]:
        """A view's rows as they are stored, count and fingerprint first; of a hopping view its panes."""
        self._declared.require(view)
        chosen = range(self._broker.partitions) if partition is None else (partition,)
        return received.merged_rows(view, (self._state(number).views[view.name] for number in chosen))

    def changelog(self, view: View, *, partition: int = 0) -> list[tuple[RowKey, Cells | None]]:
        """What was written to a task's changelog for a view, in order; None is a row that went."""
        self._declared.require(view)
        entries = self._changelog(partition).committed()
        return received.logged_rows(view, (entry.record for entry in entries if entry.record is not None))

    @property
    def late(self) -> list[Late]:
        """Records that came too late for some views or joins."""
        return [received.late(record, self._read) for record in self.records(self._topic(names.late_topic))]

    @property
    def quarantined(self) -> list[Quarantined]:
        """Records that cannot be used, and why."""
        return [received.quarantined(record) for record in self.records(self._topic(names.quarantine_topic))]

    def finals(self, view: View) -> list[ShownRow]:
        """Final rows that were published, as the documents of their topic; of a view named in `finals=`."""
        self._declared.require_final(view)
        return [json.loads(record.value or b"") for record in self.records(names.finals_topic(view.name))]

    def joined(self, join: Join) -> list[ShownRow]:
        """Joined records, in order."""
        return self._written(join, "a join", self._declared.definition.joins)

    def alerts(self, alert: Alert) -> list[ShownRow]:
        """Alerts that were told, in order."""
        return self._written(alert, "an alert", self._declared.definition.alerts)

    def unmatched(self, join: Join) -> list[Unmatched]:
        """Halves that nobody can meet any more."""
        self._declared.require_pairing(join, "a join", self._declared.definition.joins)
        records = (
            received.unmatched(record, self._read) for record in self.records(self._topic(names.unmatched_topic))
        )
        return [half for half in records if half.join == join.name]

    def records(self, topic: str) -> list[SentRecord]:
        """What a consumer sees of any topic, by partition and offset."""
        return [entry.record for _, entry in self._broker.committed(topic) if entry.record is not None]

    def marker(self, partition: int = 0) -> Marker:
        """What a task has read, and its ledgers."""
        return self._state(partition).marker

    def watermark_us(self, topic: str, *, partition: int = 0) -> int:
        """The watermark of an input topic-partition; -2**63 before any record."""
        self._declared.source_of(topic)
        return self.marker(partition).inputs[topic].watermark_us

    def _produce(self, topic: str, partition: int, records: Sequence[SentRecord]) -> list[int]:
        self._require(partition)
        sent = [sendable(topic, record) for record in records]  # all of them, before the first is in the log
        offsets = [self._broker.produce(TopicPartition(topic, partition), record) for record in sent]
        run_until_idle(self._tasks)
        return offsets

    def _written(self, one: Pairing, what: str, here: Sequence[Pairing]) -> list[ShownRow]:
        self._declared.require_pairing(one, what, here)
        columns, schemas = one.source.columns, self._declared.schemas
        return [received.values(record.value, columns, schemas) for record in self.records(one.output.name)]

    def _read(self, place: Place, record: SentRecord) -> ShownRow:
        """What a record says that was set aside; of a shortened one the whole is where it stood."""
        value = record.value
        if any(name == SHORTENED for name, _ in record.headers):
            stood = self._broker.log(place.topic, place.partition).fetch(place.offset, 1)
            value = stood.values[0]
        return received.values(value, self._declared.definition.by_topic[place.topic].columns, self._declared.schemas)

    def _state(self, partition: int) -> TaskState:
        self._require(partition)
        core = self._tasks[partition].core
        assert core is not None  # every call returns with all tasks taken over
        return core.state

    def _require(self, partition: int) -> None:
        require_partition(partition, self._broker.partitions)

    def _changelog(self, partition: int) -> PartitionLog:
        self._require(partition)
        return self._broker.log(self._topic_of_group(names.changelog_topic), partition)

    def _topic_of_group(self, name: Callable[[str, str], str]) -> str:
        return name(self._declared.definition.application, self._declared.definition.name)

    def _topic(self, name: Callable[[str], str]) -> str:
        return name(self._declared.definition.application)

"""The core of a task, without I/O: batches go in, transactions come out, commits are told.

    core = TaskCore(definition, state)
    transaction = core.plan(batch, schemas)     # built aside; the state is untouched
    ... write it in one Kafka transaction ...
    core.commit(transaction, marker_offset)     # now queries see it

A failed transaction is simply dropped; so is the whole core after a fence, for then the log may hold more
than this state does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from app.base import names
from app.codecs.avro_decode import Schemas
from app.codecs.changelog import encode_rows, marker_key
from app.codecs.marker import encode_marker
from app.codecs.row_keys import encode_keys
from app.domain.errors import StateError
from app.domain.marker import Fates, InputPosition, Marker, ViewPosition
from app.domain.records import Reason
from app.domain.source import Source
from app.domain.view import View
from app.engine import aggregate as agg
from app.engine.advances import are_due, take_requests
from app.engine.batch import Batch, Output, Transaction
from app.engine.blocks import changed_blocks
from app.engine.refusals import late_output, quarantine_output
from app.engine.state import Rows, TaskState, ViewChange, ViewState
from app.engine.usable import usable_records


@dataclass(frozen=True)
class TaskDefinition:
    """What every task of a source has in common."""

    application: str
    source: Source
    views: tuple[View, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """Input topics of a task: the source's, and the requests to raise its watermarks."""
        return (*(topic.name for topic in self.source.topics), self.advance_requests)

    @property
    def advance_requests(self) -> str:
        return names.advance_requests_topic(self.application, self.source.name)

    def empty_state(self, partition: int, inputs: dict[str, InputPosition]) -> TaskState:
        """The state of a task whose changelog holds no marker; `inputs` name where its topics begin."""
        rules = ({"from_offset": 0, "skew_seconds": self.source.skew_seconds},)
        marker = Marker(self.application, self.source.number, partition, 0, inputs, {}, rules)
        return TaskState(self.with_views(marker), {v.name: ViewState(v) for v in self.views})

    def with_views(self, marker: Marker) -> Marker:
        """The marker with a place for every declared view.

        A view that it does not know, or knows in another version, starts at the marker's position with no rows.
        """
        fresh = {
            view.name: ViewPosition(view.number, view.version, start=marker.next_offsets)
            for view in self.views
            if (known := marker.views.get(view.name)) is None or known.version != view.version
        }
        return replace(marker, views=marker.views | fresh)


class TaskCore:
    """One task: `state` is what is committed."""

    def __init__(self, definition: TaskDefinition, state: TaskState) -> None:
        self.definition = definition
        self.state = state

    def plan(self, batch: Batch, schemas: Schemas) -> Transaction | None:
        """What the batch does; None if all of it lies below the position.

        `schemas` has an entry for every schema id in the batch. StateError if the batch does not follow the
        position: offsets in between would be lost.
        """
        position = self.state.marker.inputs[batch.topic]
        if batch.next_offset <= position.next_offset:
            return None
        if batch.base_offset > position.next_offset:
            raise StateError(
                f"{batch.topic}-{batch.partition}: the batch begins at offset {batch.base_offset}, but the state "
                f"covers only what is below {position.next_offset}; the task must be taken over again"
            )
        if batch.base_offset < position.next_offset:
            batch = batch.since(position.next_offset)
        if batch.topic == self.definition.advance_requests:
            return self._plan_advances(batch, position)
        return self._plan_records(batch, position, schemas)

    def is_due(self, batch: Batch) -> bool:
        """Whether the batch may be planned now; a request to advance may have to wait for records before it."""
        return batch.topic != self.definition.advance_requests or are_due(self.state.marker, batch)

    def commit(self, transaction: Transaction, marker_offset: int) -> None:
        """Make a committed transaction visible; `marker_offset` is where its marker stands in the changelog."""
        for name, change in transaction.changes.items():
            self.state.views[name].swap_in(change)
        self.state.blocks.update(transaction.blocks)
        self.state.marker = transaction.marker
        self.state.marker_offset = marker_offset

    def _plan_records(self, batch: Batch, position: InputPosition, schemas: Schemas) -> Transaction:
        usable, reasons = usable_records(self.definition.source, batch, position.watermark_us, schemas)
        outputs = [quarantine_output(self.definition.application, batch, i, why) for i, why in reasons]
        changes: dict[str, ViewChange] = {}
        blocks: dict[bytes, tuple[int, int]] = {}
        views = dict(self.state.marker.views)
        changelog: list[tuple[bytes, bytes | None]] = []
        late_for: dict[int, list[str]] = {}
        for view in self.definition.views:
            given = agg.aggregate(view, usable)
            changes[view.name], records = self._change(view, given.rows)
            changelog += records
            for key, value, total in changed_blocks(view, self.state.blocks, batch, usable, given.fates):
                blocks[key] = total
                changelog.append((key, value))
            views[view.name] = _with_fates(views[view.name], batch.topic, given.fates)
            for at in np.flatnonzero(given.fates == agg.LATE):
                late_for.setdefault(int(usable[agg.INDEX][int(at)]), []).append(view.name)
        outputs += [late_output(self.definition.application, batch, i, late) for i, late in sorted(late_for.items())]
        moved = _moved(
            batch,
            position,
            decoded=usable.height,
            quarantined=len(reasons),
            watermark_us=_top(usable, position),
        )
        marker = self.state.marker.moved(batch.topic, moved, views)
        return self._transaction(marker, changelog, outputs, changes, blocks)

    def _plan_advances(self, batch: Batch, position: InputPosition) -> Transaction:
        taken = take_requests(self.definition.application, self.state.marker, batch)
        refused = [quarantine_output(self.definition.application, batch, i, Reason.UNDECODABLE) for i in taken.refused]
        moved = _moved(
            batch,
            position,
            decoded=len(batch) - len(refused),
            quarantined=len(refused),
            watermark_us=position.watermark_us,
        )
        marker = self.state.marker.moved(batch.topic, moved, self.state.marker.views)
        marker = replace(marker, inputs=marker.inputs | taken.inputs)
        return self._transaction(marker, [], [*refused, *taken.outputs], {}, {})

    def _transaction(
        self,
        marker: Marker,
        changelog: list[tuple[bytes, bytes | None]],
        outputs: list[Output],
        changes: dict[str, ViewChange],
        blocks: dict[bytes, tuple[int, int]],
    ) -> Transaction:
        changelog.append((marker_key(self.definition.source.number), encode_marker(marker)))
        return Transaction(marker, changelog, outputs, changes, blocks)

    def _change(self, view: View, rows: Rows) -> tuple[ViewChange, list[tuple[bytes, bytes | None]]]:
        """The rows a batch gives, merged with those that are there, and their changelog records."""
        state = self.state.views[view.name]
        keys = encode_keys(view, rows.windows, rows.groups, len(rows))
        found = np.fromiter((state.index.get(key, -1) for key in keys), np.intp, len(keys))
        known = found >= 0
        cells = rows.cells.copy()
        cells[known] = agg.merge(view, state.cells_at(found[known]), rows.cells[known])
        new = np.flatnonzero(~known)
        new_rows = Rows(None if rows.windows is None else rows.windows[new], [g[new] for g in rows.groups], cells[new])
        change = ViewChange(found[known], cells[known], [keys[i] for i in new], new_rows)
        return change, list(zip(keys, encode_rows(cells), strict=True))


def _with_fates(view: ViewPosition, topic: str, fates: npt.NDArray[np.int8]) -> ViewPosition:
    applied, late, out = (int((fates == fate).sum()) for fate in (agg.APPLIED, agg.LATE, agg.OUT_OF_SCOPE))
    total = view.fates.get(topic, Fates()).plus(Fates(applied, late, out))
    return replace(view, fates=view.fates | {topic: total})


def _top(usable: pl.DataFrame, position: InputPosition) -> int:
    return int(usable[agg.WATERMARK][-1]) if usable.height else position.watermark_us


def _moved(
    batch: Batch, position: InputPosition, *, decoded: int, quarantined: int, watermark_us: int
) -> InputPosition:
    not_records = batch.next_offset - batch.base_offset - len(batch)
    return replace(
        position,
        next_offset=batch.next_offset,
        watermark_us=watermark_us,
        decoded=position.decoded + decoded,
        quarantined=position.quarantined + quarantined,
        not_records=position.not_records + not_records,
    )

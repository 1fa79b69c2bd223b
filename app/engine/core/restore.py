"""A task's state out of its changelog: all that it holds, in the order of the log, the last of each key."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.blobs import NULL, Blobs
from app.codecs.stored import changelog
from app.codecs.stored.halves import half_head
from app.codecs.stored.marker import decode_marker
from app.codecs.stored.row_keys import row_prefix
from app.domain.errors import LayoutError, StateError
from app.domain.marker import InputPosition, Marker
from app.engine.core.batch import Batch
from app.engine.core.begun import require_same_count
from app.engine.core.called_now import as_called_now
from app.engine.core.clearing import holds
from app.engine.core.completing import completed, empty_marker, goes_on
from app.engine.core.definition import TaskDefinition
from app.engine.core.possible import require_possible
from app.engine.core.results.restoring import closing_takers
from app.engine.core.results.revising import with_revision
from app.engine.core.rows.halves import HeldHalves
from app.engine.core.rows.open_rows import OpenRows
from app.engine.core.rows.state import ViewState
from app.engine.core.rows.stored_halves import HalfTaker
from app.engine.core.rows.stored_rows import Taker, latest, row_taker
from app.engine.core.task_state import TaskState, Total

BY_ANOTHER = (
    "another producer writes to the changelog: find and stop it. What it wrote stays there, whatever is rebuilt: go on "
    "with another FLAGFALL_APP_ID, which begins where the topics do"
)


@dataclass(slots=True)
class _LastMarker:
    marker: Marker | None = None
    offset: int = -1
    is_ahead: bool = False

    def take(self, _: Blobs, values: Blobs, offsets: Int64s) -> None:
        self.marker, self.offset, self.is_ahead = decode_marker(values[-1] or b""), int(offsets[-1]), False


class Restorer:
    """Reads a task's changelog partition, batch by batch, into a state.

    Records of views, joins, alerts or versions that are not declared now are passed over; `foreign` counts them by the
    first bytes of their keys.
    """

    def __init__(self, definition: TaskDefinition, state: TaskState | None = None) -> None:
        """`state`: one to continue, which covers the log up to its marker."""
        self._definition = definition
        held = _LastMarker() if state is None else _LastMarker(state.marker, state.marker_offset, state.is_ahead)
        self._last = held
        self.records = 0
        self.foreign: dict[bytes, int] = defaultdict(int)
        self._state = _empty(definition) if state is None else state
        self._takers = self._takers_by_head()

    @property
    def marker(self) -> Marker | None:
        """The last one read."""
        return self._last.marker

    @property
    def marker_offset(self) -> int:
        """Where it stands in the log; -1 before any."""
        return self._last.offset

    @property
    def row_count(self) -> int:
        return sum(map(len, self._state.views.values()))

    @property
    def so_far(self) -> TaskState | None:
        """What was read, to be gone on with behind its last marker; None before the first."""
        if self.marker is None:
            return None
        self._state.marker, self._state.marker_offset = self.marker, self.marker_offset
        self._state.is_ahead = self._last.is_ahead
        return self._state

    def read(self, batch: Batch) -> None:
        """Take in consecutive records of the changelog partition.

        LayoutError for records of another layout or kind, StateError for one without a key; both with its place.
        """
        self.records += len(batch)
        try:
            self._take(batch)
        except LayoutError as error:
            at, first = self._first_refused(batch) or (f"offsets {batch.base_offset} to {batch.next_offset}", error)
            raise LayoutError(
                f"{batch.topic}-{batch.partition}, {at}: {first}. If a newer version of this program wrote the record, "
                f"run that one; if none did, {BY_ANOTHER}"
            ) from error

    def _first_refused(self, batch: Batch) -> tuple[str, LayoutError] | None:
        """Offset and fault of the first record of a batch that is none of ours, tried by itself."""
        for offset in batch.offsets.tolist():
            try:
                Restorer(self._definition)._take(batch.since(offset).until(offset + 1))
            except LayoutError as error:
                return f"offset {offset}", error
        return None

    def _take(self, batch: Batch) -> None:
        keys, values = Blobs.of(batch.keys), Blobs.of(batch.values)
        keyless = np.flatnonzero(keys.lengths == NULL)
        if len(keyless):
            offset = int(batch.offsets[keyless[0]])
            raise StateError(
                f"{batch.topic}-{batch.partition}, offset {offset}: a record without key, as no version of this "
                f"program writes one: {BY_ANOTHER}"
            )
        heads = keys.beginning_with([*self._takers])
        for at, take in enumerate(self._takers.values()):
            which = np.flatnonzero(heads == at)
            if len(which):
                take(keys.at(which), values.at(which), batch.offsets[which])
        unknown = np.flatnonzero(heads < 0)
        if len(unknown):
            self._pass_over(keys.at(unknown))

    def finish(self, inputs: Mapping[str, InputPosition], partition: int, changelog_id: str = "") -> TaskState:
        """The state; `inputs` name where the task's topics begin, for what the marker does not know.

        `changelog_id`: the topic that this was read from; not told where there is only one.
        """
        state = self._state
        if self.marker is None:
            empty = empty_marker(self._definition, partition, inputs)
            state.marker = replace(empty, changelog_id=changelog_id)
        else:
            require_possible(self._definition, self.marker)
            require_same_count(self._definition, self.marker)
            called = as_called_now(self._definition, self.marker)
            begun = [view for view in self._definition.views if not goes_on(view, called)]
            former = {view.name for view in begun if holds(state, view)}
            marker = replace(self.marker, changelog_id=self.marker.changelog_id or changelog_id)
            state.marker = completed(self._definition, marker, inputs, former)
            state.is_ahead = self._last.is_ahead or state.marker != self.marker
        state.marker_offset = self.marker_offset
        state.forget_looks()
        return state

    def _takers_by_head(self) -> dict[bytes, Taker]:
        """Who takes the records whose keys begin so; no method of this object, which would then hold itself."""
        definition, state = self._definition, self._state
        takers: dict[bytes, Taker] = {row_prefix(view): row_taker(state.views[view.name]) for view in definition.views}
        takers |= {
            changelog.head_of(changelog.MARKER): self._last.take,
            changelog.head_of(changelog.BLOCK): _block_taker(state.blocks),
        }
        for name in definition.finals:
            takers |= closing_takers(definition.by_name[name], state)
        return takers | {half_head(one): HalfTaker(one, state.halves) for one in definition.pairing}

    def _pass_over(self, keys: Blobs) -> None:
        """Count what is not declared here; what not even a kind is known of is not passed over."""
        width = changelog.ROW_HEAD.size
        for key in keys.at(keys.lengths < width):
            kind = changelog.kind_of(key or b"")
            raise LayoutError(f"changelog key {(key or b'').hex()} is too short for kind {kind}")
        heads = Blobs(keys.data, keys.starts, np.full(len(keys), width)).matrix(width)
        found, counts = np.unique(heads.view(f"V{width}").ravel(), return_counts=True)
        for head, count in zip(found.tolist(), counts.tolist(), strict=True):
            changelog.kind_of(head)
            self.foreign[head] += count


def new_state(definition: TaskDefinition, partition: int, inputs: Mapping[str, InputPosition]) -> TaskState:
    """The state of a task whose changelog is empty; `inputs` name where its topics begin."""
    return Restorer(definition).finish(inputs, partition)


def _empty(definition: TaskDefinition) -> TaskState:
    return TaskState(
        marker=Marker(definition.application, definition.number, -1, 0, {}, {}),
        views={view.name: ViewState(view) for view in definition.views},
        closings={name: ViewState(definition.by_name[name]) for name in definition.finals},
        open_rows={name: OpenRows(definition.by_name[name]) for name in definition.finals},
        marks={name: {} for name in definition.finals},
        finals={name: ViewState(with_revision(definition.by_name[name])) for name in definition.finals},
        halves={one.name: HeldHalves() for one in definition.pairing},
    )


def _block_taker(blocks: dict[bytes, Total]) -> Taker:
    def take(keys: Blobs, values: Blobs, _: Int64s) -> None:
        for key, value in latest(keys, values):
            if value is None:
                blocks.pop(key, None)
            else:
                blocks[key] = changelog.decode_block(key, value)[1:]

    return take

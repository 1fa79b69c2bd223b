"""A transaction while it is being planned: the parts of a task's core add what they do to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.codecs.blobs import Blobs
from app.codecs.stored.changelog import ROW, marker_key, row_matrix
from app.codecs.stored.closing_columns import of_kind
from app.codecs.stored.marker import encode_marker
from app.codecs.stored.row_key_columns import encode_key_columns
from app.domain.marker import AlertPosition, BranchPosition, InputPosition, JoinPosition, ViewPosition
from app.domain.view import View
from app.engine.core.batch import Changes, Output, Outputs, Transaction
from app.engine.core.begun import begun_outputs
from app.engine.core.definition import TaskDefinition
from app.engine.core.rows.state import Rows
from app.engine.core.task_state import Effect, TaskState


class Draft:
    """Collects records and effects over a state that stays as it is; `marker` is what the marker will be."""

    def __init__(self, definition: TaskDefinition, state: TaskState) -> None:
        self.definition, self.state = definition, state
        self.marker = state.marker
        self.outputs: list[Output] = []
        self._outputs: list[Sequence[Output]] = []
        """What stands before those of `outputs`."""
        self.effects: list[Effect] = []
        self._changes: list[Changes] = []
        self._single: list[tuple[bytes, bytes | None]] = []

    @property
    def application(self) -> str:
        return self.definition.application

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change but the marker's sequence, and its log knows the marker as it is."""
        kept = self._changes or self._single
        told = self.outputs or self._outputs or self.effects
        return not (kept or told or self.state.is_ahead) and self.marker is self.state.marker

    def keep(self, key: bytes, value: bytes | None) -> None:
        """A record of the changelog; None is a tombstone."""
        self._single.append((key, value))

    def keep_all(self, changes: Changes) -> None:
        """Records of the changelog, in columns."""
        self._gather()
        if len(changes):
            self._changes.append(changes)

    def keep_rows(self, view: View, rows: Rows, kind: int = ROW) -> None:
        self.keep_all(Changes(_keys(view, rows, kind), Blobs.of_rows(row_matrix(rows.cells, rows.corrected))))

    def drop_rows(self, view: View, rows: Rows, kind: int = ROW) -> None:
        self.keep_all(Changes(_keys(view, rows, kind), Blobs.nulls(len(rows))))

    def _gather(self) -> None:
        """Records that were kept one by one stay before those that follow."""
        if self._single:
            self._changes.append(Changes.of(self._single))
            self._single = []

    def send(self, outputs: Sequence[Output]) -> None:
        """Outputs in columns, or made only when they are written, behind those that are there."""
        if len(outputs):
            self._outputs += [self.outputs, outputs]
            self.outputs = []

    def move_input(self, topic: str, position: InputPosition) -> None:
        self.marker = replace(self.marker, inputs=self.marker.inputs | {topic: position})

    def move_view(self, name: str, position: ViewPosition) -> None:
        self.marker = replace(self.marker, views=self.marker.views | {name: position})

    def move_join(self, name: str, position: JoinPosition) -> None:
        self.marker = replace(self.marker, joins=self.marker.joins | {name: position})

    def move_alert(self, name: str, position: AlertPosition) -> None:
        self.marker = replace(self.marker, alerts=self.marker.alerts | {name: position})

    def move_branch(self, name: str, position: BranchPosition) -> None:
        self.marker = replace(self.marker, branches=self.marker.branches | {name: position})

    def finish(self) -> Transaction:
        """The transaction; its marker's sequence is one more than the state's."""
        marker = replace(self.marker, sequence=self.state.marker.sequence + 1)
        if self.state.is_ahead or not self.state.marker.sequence:
            self.outputs += begun_outputs(self.definition, marker)
        self.keep(marker_key(self.definition.number), encode_marker(marker))
        self._gather()
        outputs = Outputs([*self._outputs, self.outputs]) if self._outputs else self.outputs
        return Transaction(marker, Changes.joined(self._changes), outputs, self.effects)


def _keys(view: View, rows: Rows, kind: int) -> Blobs:
    keys = encode_key_columns(view, rows.windows, rows.groups, len(rows))
    return keys if kind == ROW else of_kind(keys, kind)

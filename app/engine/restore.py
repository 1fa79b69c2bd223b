"""A task's state out of its changelog: rows, blocks and the last marker, in the order of the log."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from app.codecs import changelog
from app.codecs.marker import decode_marker
from app.codecs.row_keys import decode_keys, row_prefix
from app.domain.errors import StateError
from app.domain.marker import Marker
from app.domain.view import View
from app.engine.batch import Batch
from app.engine.state import Rows, TaskState, ViewChange, ViewState


@dataclass
class Restorer:
    """Reads a task's changelog partition, batch by batch, into view states.

    Rows of views or versions that are not declared now are passed over and counted in `foreign`.
    """

    views: tuple[View, ...]
    states: dict[str, ViewState] = field(init=False)
    blocks: dict[bytes, tuple[int, int]] = field(default_factory=dict)
    marker: Marker | None = None
    marker_offset: int = -1
    records: int = 0
    foreign: int = 0

    def __post_init__(self) -> None:
        self.states = {view.name: ViewState(view) for view in self.views}
        self._by_prefix = {row_prefix(view): view for view in self.views}

    @classmethod
    def continuing(cls, views: tuple[View, ...], state: TaskState) -> Restorer:
        """One that starts from a state which covers the log up to its marker."""
        restorer = cls(views)
        restorer.states, restorer.blocks = state.views, state.blocks
        restorer.marker, restorer.marker_offset = state.marker, state.marker_offset
        return restorer

    def read(self, batch: Batch) -> None:
        """Take in consecutive records of the changelog partition.

        LayoutError for records of another layout, StateError for what this version does not write.
        """
        self.records += len(batch)
        latest = dict(zip(batch.keys, batch.values, strict=True))  # later records of a key win
        rows: dict[bytes, tuple[list[bytes], list[bytes]]] = {prefix: ([], []) for prefix in self._by_prefix}
        lengths = {len(prefix) for prefix in rows}
        for key, value in latest.items():
            if key is None or value is None:
                raise StateError(
                    f"{batch.topic}-{batch.partition}: a record without key or value between offsets "
                    f"{batch.base_offset} and {batch.next_offset}; this version writes none, use the one that did"
                )
            kind = changelog.kind_of(key)
            if kind == changelog.MARKER:
                self.marker = decode_marker(value)
            elif kind == changelog.BLOCK:
                _, count, fingerprint = changelog.decode_block(key, value)
                self.blocks[key] = (count, fingerprint)
            else:
                prefix = next((key[:n] for n in lengths if key[:n] in rows), None)
                if prefix is None:
                    self.foreign += 1
                    continue
                rows[prefix][0].append(key)
                rows[prefix][1].append(value)
        for prefix, (keys, values) in rows.items():
            if keys:
                _put(self.states[self._by_prefix[prefix].name], keys, values)
        self._note_marker_offset(batch)

    def _note_marker_offset(self, batch: Batch) -> None:
        for i in range(len(batch) - 1, -1, -1):
            key = batch.keys[i]
            if key is not None and key[1] == changelog.MARKER:
                self.marker_offset = int(batch.offsets[i])
                return


def _put(state: ViewState, keys: list[bytes], values: list[bytes]) -> None:
    cells = changelog.decode_rows(values, len(state.view.cells))
    found = np.fromiter((state.index.get(key, -1) for key in keys), np.intp, len(keys))
    known, new = np.flatnonzero(found >= 0), np.flatnonzero(found < 0)
    new_keys = [keys[i] for i in new]
    windows, groups = decode_keys(state.view, new_keys)
    state.swap_in(ViewChange(found[known], cells[known], new_keys, Rows(windows, groups, cells[new])))

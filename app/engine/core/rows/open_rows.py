"""Rows that merge and were open when their tasks moved their marks, as the closing stage knows them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.blobs import Blobs
from app.codecs.stored.closing_columns import OpenKeys, open_keys_of, read_open_keys
from app.domain.view import View
from app.engine.core.rows.chains import Chains
from app.engine.core.rows.table import Table
from app.engine.core.rows.texts import TextCodes

_GROUP, _START, _TASK = range(3)
_FAR = np.iinfo(np.int64)


class OpenRows:
    """Of one view, by group, start and task.

    A row is open until its task's mark passes the one that it was told with: with each mark a task tells anew of all
    that is open.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._groups = TextCodes()
        """Groups as they stand in keys."""
        self._table = Table(3, 1, windowed=False)
        """The one cell is the `closed_to_us` of the mark that a row was told with."""
        self._chains = Chains(1)
        self._none_by: Mapping[int, int] | None = None
        """Marks by which no row was left to be overtaken."""

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        """Memory of its arrays, room to grow included."""
        return self._groups.nbytes + self._table.nbytes + self._chains.nbytes

    def put(self, keys: Blobs, closed_to_us: Int64s) -> None:
        """Rows, and the marks that they are told with; of a row that is known the new mark counts."""
        named = read_open_keys(keys)
        held = np.column_stack([self._groups.give(named.groups), named.starts_us, named.tasks])
        _, new = self._table.put(held, closed_to_us[:, None], None)
        came = self._table.keys(new)
        self._groups.hold(came[:, _GROUP])
        ends_us = np.full(len(new), _FAR.max)
        self._chains.add(new, np.ascontiguousarray(came[:, :1]), came[:, _START], ends_us)
        self._none_by = None

    def remove(self, keys: Blobs) -> None:
        """Some of them, known or not."""
        named = read_open_keys(keys)
        held = np.column_stack([self._groups.find(named.groups), named.starts_us, named.tasks])
        slots = np.unique(self._table.find(held))
        slots = slots[slots >= 0]
        self._table.remove(slots)
        self._chains.remove(slots)
        self._groups.release(self._table.key_column(slots, _GROUP))

    def pack(self) -> None:
        """Give back the room of removed rows."""
        for from_slots, to_slots in self._table.pack():
            self._chains.move(from_slots, to_slots)
        self._chains.fit(self._table.end)

    def begin_by(self, groups: Blobs, instants_us: Int64s) -> Mask:
        """Whether a row of each of these groups begins at its instant or before."""
        return self._chains.begin_by(self._groups.find(groups)[:, None], instants_us)

    def overtaken(self, marks_us: Mapping[int, int], most: int) -> Blobs:
        """Keys of rows that are open no more by the marks of their tasks; at most so many."""
        slots = np.empty(0, np.int64)
        if len(self) and marks_us != self._none_by:
            slots = self._told_before(marks_us)[:most]
            self._none_by = None if len(slots) else dict(marks_us)
        held = self._table.keys(slots)
        groups = self._groups.texts(np.ascontiguousarray(held[:, _GROUP]))
        return open_keys_of(self._view, OpenKeys(groups, held[:, _START], held[:, _TASK]))

    def _told_before(self, marks_us: Mapping[int, int]) -> Int64s:
        slots = self._table.rows()
        tasks = self._table.key_column(slots, _TASK)
        marks = np.full(max(int(tasks.max()), *marks_us, 0) + 1, _FAR.min)
        marks[[*marks_us]] = [*marks_us.values()]
        return slots[self._table.cell_column(slots, 0) < marks[tasks]]

"""The committed rows of one view in one task, found by key or scanned by column.

They are changed on one event loop, between awaits: whoever reads between two awaits sees the rows of exactly one
marker. A batch's changes are built aside, in a thread that only reads these rows, and swapped in on the loop after
their transaction has been committed: nothing is swapped in while a plan is being made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from app.codecs.arrays import Int64s, Mask
from app.codecs.stored.changelog import encode_rows
from app.codecs.stored.row_keys import encode_keys
from app.codecs.text_column import GroupColumns
from app.domain.records import Value
from app.domain.view import View
from app.engine.core.rows.chains import Chains
from app.engine.core.rows.columns import Rows, ViewChange
from app.engine.core.rows.snapshot import Snapshot, empty_rows
from app.engine.core.rows.table import Table
from app.engine.core.rows.table_keys import TableKeys, keys_of, window_starts

__all__ = ["GroupColumns", "Rows", "ViewChange", "ViewState"]


class ViewState:
    """Rows of a view: window and groups as key columns (texts as codes), and cells.

    A row's slot holds until `pack`, which follows the last change of a transaction.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._windowed = view.window.ends
        self._keys = TableKeys(view)
        self._table = Table(self._keys.columns, len(view.cells), windowed=self._windowed)
        self._chains = Chains(len(view.texts)) if view.window.merges else None
        self._snapshots: list[Snapshot] = []
        self._gone: list[Int64s] = []

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        """Memory of its arrays, room to grow included; without the texts of groups."""
        return self._table.nbytes + (self._chains.nbytes if self._chains else 0)

    def swap_in(self, change: ViewChange) -> None:
        """Make a committed change visible."""
        for snapshot in self._snapshots:
            snapshot.keep(change.slots, self._changing)
        self._table.set(change.slots, change.cells)
        if self._chains:
            self._chains.set_ends(change.slots, change.cells[:, self.view.last_at])
        self._remove(change.removed)
        self.append(change.new_rows)

    def pack(self) -> None:
        """Give back the room of removed rows; slots change, unless a snapshot is being copied."""
        if self._snapshots:
            return
        moves = self._table.pack()
        if self._chains:
            for from_slots, to_slots in moves:
                self._chains.move(from_slots, to_slots)
            self._chains.fit(self._table.end)

    def append(self, rows: Rows) -> None:
        """Add rows whose keys are distinct and not there yet."""
        if len(rows):
            keys = self._keys.of(rows, give=True)
            slots = self._table.add(keys, rows.cells, rows.corrected, reuse=not self._snapshots)
            self._take_up(slots, keys)

    def put(self, rows: Rows) -> None:
        """Rows as a log holds them, known or new; of those with the same key the last one counts."""
        for snapshot in self._snapshots:
            slots = self.find_slots(rows)
            snapshot.keep(slots[slots >= 0], self._changing)
        slots, new = self._table.put(self._keys.of(rows, give=True), rows.cells, rows.corrected)
        self._take_up(new, self._table.keys(new))
        if self._chains:
            self._chains.set_ends(slots, rows.cells[:, self.view.last_at])

    def find_slots(self, rows: Rows) -> Int64s:
        """The slot of each row's key, -1 where there is none. The cells do not matter."""
        return self._table.find(self._keys.of(rows))

    def touching(self, rows: Rows, gap_us: int) -> Int64s:
        """Slots of rows that become one with one of these where rows merge: of its group, at most the gap away."""
        assert self._chains is not None
        assert rows.windows is not None
        groups = np.ascontiguousarray(self._keys.of(rows)[:, 1:])
        return self._chains.touching(groups, rows.windows - gap_us, rows.cells[:, self.view.last_at] + gap_us)

    def cells_at(self, slots: Int64s) -> Int64s:
        """A copy of the cells of some slots."""
        return self._table.cells(slots)

    def select(
        self,
        *,
        from_us: int | None = None,
        until_us: int | None = None,
        groups: Mapping[str, Sequence[Value]] | None = None,
    ) -> Rows:
        """A copy of the rows that `find` finds."""
        return self.rows_at(self.find(from_us=from_us, until_us=until_us, groups=groups))

    def find(
        self,
        *,
        from_us: int | None = None,
        until_us: int | None = None,
        groups: Mapping[str, Sequence[Value]] | None = None,
    ) -> Int64s:
        """Slots of rows whose window starts in `[from_us, until_us)` and whose groups are among those given.

        None for a bound leaves that side open; all-time views have no bounds. A group value None is null.
        """
        keys = self._keys_asked(from_us, until_us, groups)
        if keys is not None and len(keys) < len(self):
            found = self._table.find(keys)
            return np.sort(found[found >= 0])
        slots = self._table.within(from_us, until_us) if self._windowed else self._table.rows()
        for i, group in enumerate(self.view.stored_groups):
            if groups is not None and group.name in groups:
                held = self._table.key_column(slots, self._windowed + i)
                slots = slots[np.isin(held, self._keys.asked_for(i, groups[group.name]))]
        return slots

    def narrowed(
        self, count: int, from_us: int | None, until_us: int | None, *, newest_first: bool
    ) -> tuple[int | None, int | None]:
        """Bounds within these that still hold the first `count` rows of these by window, or the last.

        As narrow as can be told without a search; the bounds themselves where nothing can.
        """
        if not self._windowed:
            return from_us, until_us
        if newest_first:
            first = self._table.enough_last(count, until_us)
            return (first if from_us is None else from_us if first is None else max(first, from_us)), until_us
        last = self._table.enough_first(count, from_us)
        end = None if last is None else last + 1
        return from_us, (end if until_us is None else until_us if end is None else min(end, until_us))

    def rows_at(self, slots: Int64s) -> Rows:
        """A copy of the rows of some slots."""
        keys = self._table.keys(slots)
        windows = np.ascontiguousarray(keys[:, 0]) if self._windowed else None
        return Rows(windows, self._keys.groups(keys), *self._changing(slots))

    def windows_at(self, slots: Int64s) -> Int64s | None:
        """A copy of the window starts of some slots; None for all-time views."""
        return self._table.key_column(slots, 0) if self._windowed else None

    def numbers_at(self, slots: Int64s) -> Int64s | None:
        """A copy of the first group's values of some slots; None for views without groups, and where it is a text."""
        if not self.view.texts or not self._keys.is_number(0):
            return None
        return self._table.key_column(slots, int(self._windowed))

    def cell_at(self, slots: Int64s, at: int) -> Int64s:
        """A copy of one cell of some slots."""
        return self._table.cell_column(slots, at)

    @contextmanager
    def snapshot(self, slots: Int64s | None = None) -> Iterator[Snapshot]:
        """The rows of this moment, or those of some slots, to be copied step by step while the state goes on."""
        wanted = self._table.alive() if slots is None else self._table.mask(slots)
        snapshot = Snapshot(wanted, self._empty_rows, self.rows_at)
        self._snapshots.append(snapshot)
        try:
            yield snapshot
        finally:
            self._snapshots.remove(snapshot)
            self._forget_texts()

    def stored(self) -> tuple[list[bytes], list[bytes]]:
        """Keys and values of all rows as the changelog holds them."""
        rows = self.select()
        return encode_keys(self.view, rows.windows, rows.groups, len(rows)), encode_rows(rows.cells, rows.corrected)

    def _changing(self, slots: Int64s) -> tuple[Int64s, Mask | None]:
        """A copy of what changes of rows while their keys stay."""
        return self._table.cells(slots), self._table.corrected(slots)

    def _remove(self, slots: Int64s) -> None:
        if len(slots):
            self._table.remove(slots)
            if self._chains:
                self._chains.remove(slots)
            self._gone.append(slots)
            self._forget_texts()

    def _forget_texts(self) -> None:
        """Of removed rows, once no snapshot may still want them."""
        if self._snapshots:
            return
        gone, self._gone = self._gone, []
        for slots in gone:
            self._keys.release(self._table.keys(slots))

    def _take_up(self, slots: Int64s, keys: Int64s) -> None:
        """Rows have come into the table."""
        self._keys.hold(keys)
        if self._chains:
            ends = self._table.cell_column(slots, self.view.last_at)
            self._chains.add(slots, np.ascontiguousarray(keys[:, 1:]), keys[:, 0], ends)

    def _keys_asked(
        self, from_us: int | None, until_us: int | None, groups: Mapping[str, Sequence[Value]] | None
    ) -> Int64s | None:
        """The keys of all rows that there may be for the question; None if they are many, or cannot be told."""
        stored = self.view.stored_groups
        if groups is None or any(group.name not in groups for group in stored):
            return None
        columns = [self._keys.asked_for(i, groups[group.name]) for i, group in enumerate(stored)]
        if self._windowed:
            first, last = self._table.window_span()
            low = first if from_us is None else max(first, from_us)
            end = last + 1 if until_us is None else min(last + 1, until_us)
            starts = window_starts(self.view, low, end) if low < end else np.empty(0, np.int64)
            if starts is None:
                return None
            columns.insert(0, starts)
        return keys_of(columns)

    def _empty_rows(self, count: int) -> Rows:
        return empty_rows(count, windowed=self._windowed, texts=self.view.texts, cells=len(self.view.cells))

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
from app.codecs.stored.changelog import NULL_INTEGER, encode_rows
from app.codecs.stored.row_keys import encode_keys
from app.domain.records import Value
from app.domain.view import View
from app.engine.core.rows.asked_keys import keys_of, window_starts
from app.engine.core.rows.columns import GroupColumns, Rows, ViewChange
from app.engine.core.rows.snapshot import Snapshot, empty_rows
from app.engine.core.rows.table import Table
from app.engine.core.rows.texts import TextCodes, in_utf8, out_of_utf8

__all__ = ["GroupColumns", "Rows", "ViewChange", "ViewState"]


class ViewState:
    """Rows of a view: window and groups as key columns (texts as codes), and cells.

    A row's slot holds until `pack`, which follows the last change of a transaction.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._windowed = view.window.ends
        self._texts = [TextCodes() if text else None for text in view.texts]
        self._table = Table(self._windowed + len(view.texts), len(view.cells), windowed=self._windowed)
        self._snapshots: list[Snapshot] = []
        self._gone: list[Int64s] = []

    def __len__(self) -> int:
        return len(self._table)

    @property
    def nbytes(self) -> int:
        """Memory of its arrays, room to grow included; without the texts of groups."""
        return self._table.nbytes

    def swap_in(self, change: ViewChange) -> None:
        """Make a committed change visible."""
        for snapshot in self._snapshots:
            snapshot.keep(change.slots, self._changing)
        self._table.set(change.slots, change.cells)
        self._remove(change.removed)
        self.append(change.new_rows)

    def pack(self) -> None:
        """Give back the room of removed rows; slots change, unless a snapshot is being copied."""
        if not self._snapshots:
            self._table.pack()

    def append(self, rows: Rows) -> None:
        """Add rows whose keys are distinct and not there yet."""
        if len(rows):
            keys = self._coded(rows, give=True)
            self._table.add(keys, rows.cells, rows.corrected, reuse=not self._snapshots)
            self._hold_texts(keys)

    def put(self, rows: Rows) -> None:
        """Rows as a log holds them, known or new; of those with the same key the last one counts."""
        for snapshot in self._snapshots:
            slots = self.find_slots(rows)
            snapshot.keep(slots[slots >= 0], self._changing)
        keys = self._coded(rows, give=True)
        self._hold_texts(self._table.keys(self._table.put(keys, rows.cells, rows.corrected)))

    def find_slots(self, rows: Rows) -> Int64s:
        """The slot of each row's key, -1 where there is none. The cells do not matter."""
        return self._table.find(self._coded(rows, give=False))

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
                slots = slots[np.isin(held, self._asked(i, groups[group.name]))]
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
        groups: GroupColumns = []
        for at, codes in enumerate(self._texts, start=self._windowed):
            held = np.ascontiguousarray(keys[:, at])
            groups.append(held if codes is None else out_of_utf8(codes.texts(held)))
        windows = np.ascontiguousarray(keys[:, 0]) if self._windowed else None
        return Rows(windows, groups, *self._changing(slots))

    def windows_at(self, slots: Int64s) -> Int64s | None:
        """A copy of the window starts of some slots; None for all-time views."""
        return self._table.key_column(slots, 0) if self._windowed else None

    def numbers_at(self, slots: Int64s) -> Int64s | None:
        """A copy of the first group's values of some slots; None for views without groups, and where it is a text."""
        if not self._texts or self._texts[0] is not None:
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
            self._gone.append(slots)
            self._forget_texts()

    def _forget_texts(self) -> None:
        """Of removed rows, once no snapshot may still want them."""
        if self._snapshots:
            return
        gone, self._gone = self._gone, []
        for slots in gone:
            for at, codes in enumerate(self._texts, start=self._windowed):
                if codes is not None:
                    codes.release(self._table.key_column(slots, at))

    def _hold_texts(self, keys: Int64s) -> None:
        for at, codes in enumerate(self._texts, start=self._windowed):
            if codes is not None:
                codes.hold(keys[:, at])

    def _coded(self, rows: Rows, *, give: bool) -> Int64s:
        """The rows' keys, texts as codes; `give` them to texts that have none."""
        keys = np.empty((len(rows), self._windowed + len(rows.groups)), np.int64)
        if rows.windows is not None:
            keys[:, 0] = rows.windows
        for at, (codes, held) in enumerate(zip(self._texts, rows.groups, strict=True), start=self._windowed):
            keys[:, at] = held if codes is None else (codes.give if give else codes.find)(in_utf8(held))
        return keys

    def _asked(self, group: int, values: Sequence[Value]) -> Int64s:
        """Values of a group as its key column holds them, each once; a text that no row has as a code that none has."""
        codes = self._texts[group]
        if codes is None:
            asked = np.array([NULL_INTEGER if v is None else int(v) for v in values], np.int64)
        else:
            asked = codes.find(in_utf8([None if v is None else str(v) for v in values]))
        return asked if len(asked) < 2 else np.unique(asked)

    def _keys_asked(
        self, from_us: int | None, until_us: int | None, groups: Mapping[str, Sequence[Value]] | None
    ) -> Int64s | None:
        """The keys of all rows that there may be for the question; None if they are many, or cannot be told."""
        stored = self.view.stored_groups
        if groups is None or any(group.name not in groups for group in stored):
            return None
        columns = [self._asked(i, groups[group.name]) for i, group in enumerate(stored)]
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
        texts = [codes is not None for codes in self._texts]
        return empty_rows(count, windowed=self._windowed, texts=texts, cells=len(self.view.cells))

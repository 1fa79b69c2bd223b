"""Rows, and questions for rows, as the keys of a table: windows and groups as numbers, texts by their codes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from app.codecs.arrays import Int64s
from app.codecs.stored.changelog import NULL_INTEGER
from app.codecs.text_column import GroupColumns, TextColumn
from app.domain.records import Value
from app.domain.view import View
from app.engine.core.rows.columns import Rows
from app.engine.core.rows.texts import TextCodes

MOST_KEYS = 4096
"""So many are looked up in about 1 ms; a search of a million rows takes 10 to 20."""


class TableKeys:
    """Of a view's rows: (rows, columns) arrays, the window before the groups. It holds the texts as long as rows do."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.windowed = view.window.ends
        self.columns = self.windowed + len(view.texts)
        self._texts = [TextCodes() if text else None for text in view.texts]

    def of(self, rows: Rows, *, give: bool = False) -> Int64s:
        """The rows' keys; `give` codes to texts that have none. Rows that stay are then to be held."""
        keys = np.empty((len(rows), self.columns), np.int64)
        if rows.windows is not None:
            keys[:, 0] = rows.windows
        for at, (codes, held) in enumerate(zip(self._texts, rows.groups, strict=True), start=self.windowed):
            keys[:, at] = held if codes is None else (codes.give if give else codes.find)(TextColumn.of(held).utf8)
        return keys

    def hold(self, keys: Int64s) -> None:
        """Rows with these keys have come."""
        for at, codes in enumerate(self._texts, start=self.windowed):
            if codes is not None:
                codes.hold(keys[:, at])

    def release(self, keys: Int64s) -> None:
        """Rows with these keys are gone."""
        for at, codes in enumerate(self._texts, start=self.windowed):
            if codes is not None:
                codes.release(keys[:, at])

    def groups(self, keys: Int64s) -> GroupColumns:
        """A copy of the groups of known keys."""
        columns = [np.ascontiguousarray(held) for held in keys.T[self.windowed :]]
        pairs = zip(self._texts, columns, strict=True)
        return [held if codes is None else TextColumn(codes.texts(held)) for codes, held in pairs]

    def asked_for(self, group: int, values: Sequence[Value]) -> Int64s:
        """Values of a group as its column holds them, each once; a text that no row has as a code that none has."""
        codes = self._texts[group]
        if codes is None:
            asked = np.array([NULL_INTEGER if v is None else int(v) for v in values], np.int64)
        else:
            asked = codes.find(TextColumn.of(None if v is None else str(v) for v in values).utf8)
        return asked if len(asked) < 2 else np.unique(asked)

    def is_number(self, group: int) -> bool:
        """Whether the group's column holds its values themselves."""
        return self._texts[group] is None


def window_starts(view: View, from_us: int, until_us: int) -> Int64s | None:
    """Starts of the stored windows that begin in `[from_us, until_us)`; None if they are many, or anywhere."""
    starts = view.window.starts(from_us, until_us, MOST_KEYS)
    if isinstance(starts, range):
        return np.arange(starts.start, starts.stop, starts.step, dtype=np.int64)
    return None if starts is None else np.array(starts, np.int64)


def keys_of(columns: Sequence[Int64s]) -> Int64s | None:
    """Every key made of one value of each column, as a (keys, columns) array; None if they are many.

    No column names a value twice.
    """
    count = prod(len(column) for column in columns)
    if not columns or count > MOST_KEYS:
        return None
    keys, each = np.empty((count, len(columns)), np.int64), count
    for at, column in enumerate(columns):  # the last varies fastest
        each //= len(column) or 1
        keys[:, at] = column if len(column) in (1, count) else np.resize(np.repeat(column, each), count)
    return keys

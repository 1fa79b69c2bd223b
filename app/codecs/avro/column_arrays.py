"""Columns of a batch as numpy arrays that the compiled loops write, and as the Polars frame that views read.

No value is copied on the way: numbers are the arrays themselves, texts are Arrow views into the records' own bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from app.codecs.arrays import Int64s
from app.codecs.blobs import NULL, Blobs
from app.codecs.column_types import HELD
from app.codecs.weaving import chosen
from app.domain.source import Column, Kind

Present = npt.NDArray[np.bool_]

INLINE_TEXT_BYTES = 12
"""Texts up to this length stand whole in their Arrow views, padded with zeros: equal texts, equal views."""
_LENGTH = 0xFFFFFFFF
_VIEW_BYTES, _INLINE_FROM = 16, 4
"""A view: the length, four bytes of the text, the buffer's number, the place in it; or the length and the text."""


@dataclass(frozen=True)
class Layout:
    """Where the values of a source's `columns` go; `read` names those that are wanted, None all."""

    columns: tuple[Column, ...]
    read: Collection[str] | None = None

    @cached_property
    def wanted(self) -> tuple[Column, ...]:
        """The columns that are kept, in the source's order."""
        return tuple(c for c in self.columns if self.read is None or c.name in self.read)

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """By name: the column's row in `present`, and its first one in `cells`."""
        units = np.cumsum([0, *(HELD[column.kind].cells for column in self.wanted)]).tolist()
        return {column.name: (place, units[place]) for place, column in enumerate(self.wanted)}

    @cached_property
    def units(self) -> int:
        """Cells that one record takes."""
        return sum(HELD[column.kind].cells for column in self.wanted)


class ColumnCells(NamedTuple):
    """One column: a row of `values` for numbers and flags, two for texts; where not `present`, they mean nothing."""

    kind: Kind
    values: Int64s
    present: Present

    @classmethod
    def joined(cls, parts: Sequence[ColumnCells]) -> ColumnCells:
        """Columns of numbers or flags, one behind the other."""
        values = np.concatenate([part.values for part in parts], axis=1)
        return cls(parts[0].kind, values, np.concatenate([part.present for part in parts]))

    def at(self, rows: npt.NDArray[np.intp]) -> ColumnCells:
        """A copy of some of the records."""
        if self.kind is Kind.TEXT:
            return ColumnCells(self.kind, self.views[rows].reshape(2, -1), self.present[rows])
        return ColumnCells(self.kind, self.values[:, rows], self.present[rows])

    @property
    def views(self) -> Int64s:
        """Of texts: the two words of each record's Arrow view, (records, 2)."""
        return self.values.reshape(-1, 2)


@dataclass
class ColumnArrays:
    """The wanted columns of `height` records; all null until they are written.

    `cells` has a row for each column of numbers or flags (0 and 1) and two adjoining ones for each of texts, filled
    with Arrow's 16-byte views into `buffers`.
    """

    layout: Layout
    height: int
    buffers: list[pa.Buffer]
    cells: Int64s = field(init=False)
    present: Present = field(init=False)

    def __post_init__(self) -> None:
        self.cells = np.zeros((self.layout.units, self.height), np.int64)
        self.present = np.zeros((len(self.layout.wanted), self.height), np.bool_)

    @classmethod
    def joined(cls, parts: Sequence[ColumnArrays]) -> ColumnArrays:
        """Records of one layout, one part behind the other; what their texts lie in is not copied."""
        buffers = [buffer for part in parts for buffer in part.buffers]
        joined = cls(parts[0].layout, sum(part.height for part in parts), buffers)
        np.concatenate([part.cells for part in parts], axis=1, out=joined.cells)
        np.concatenate([part.present for part in parts], axis=1, out=joined.present)
        for name, (place, _) in joined.layout.places.items():
            if joined.layout.wanted[place].kind is Kind.TEXT:
                joined._join_texts(name, parts)
        return joined

    def _join_texts(self, name: str, parts: Sequence[ColumnArrays]) -> None:
        views, begin, buffers = self.column(name).views, 0, 0
        for part in parts:
            moved = views[begin : begin + part.height]
            moved[:] = part.column(name).views
            moved[(moved[:, 0] & _LENGTH) > INLINE_TEXT_BYTES, 1] += buffers  # whose number stands in the low half
            begin, buffers = begin + part.height, buffers + len(part.buffers)

    def column(self, name: str) -> ColumnCells:
        """A wanted column; KeyError if it is not one."""
        place, unit = self.layout.places[name]
        kind = self.layout.wanted[place].kind
        return ColumnCells(kind, self.cells[unit : unit + HELD[kind].cells], self.present[place])

    def text_bytes(self, name: str, rows: npt.NDArray[np.intp] | None = None) -> Blobs:
        """A wanted column of texts, in UTF-8 where they stand; of some of the records, None: of all."""
        cells = self.column(name)
        cells = cells if rows is None else cells.at(rows)
        words = np.ascontiguousarray(cells.views).view(np.int32).reshape(-1, 4)
        lengths = np.where(cells.present, words[:, 0].astype(np.int64), NULL)
        starts = np.arange(len(words)) * _VIEW_BYTES + _INLINE_FROM
        inline = Blobs(words.reshape(-1).view(np.uint8), starts, lengths)
        beside = np.where(lengths > INLINE_TEXT_BYTES, 1 + words[:, 2].astype(np.int64), 0)
        if not beside.any():
            return inline
        held = [np.frombuffer(cast(Any, buffer), np.uint8) for buffer in self.buffers]
        columns = [Blobs(data, words[:, 3].astype(np.int64), lengths) for data in held]
        return columns[0] if (beside == 1).all() else chosen(beside, [inline, *columns])

    def frame(self, more: Mapping[str, ColumnCells] | None = None) -> pl.DataFrame:
        """The wanted columns, and `more` of the same height behind them."""
        places = self.layout.places
        bits = np.packbits(self.present, axis=1, bitorder="little")
        full = np.logical_and.reduce(self.present, axis=1)
        valid = [None if full[place] else _buffer(bits[place]) for place, _ in places.values()]
        arrays = {name: self._arrow(self.column(name), bits) for name, bits in zip(places, valid, strict=True)}
        arrays |= {name: self._arrow(cells, _validity(cells.present)) for name, cells in (more or {}).items()}
        return pl.DataFrame(pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays)))

    def _arrow(self, column: ColumnCells, valid: pa.Buffer | None) -> pa.Array[Any]:
        if column.kind is Kind.TEXT:
            buffers = [valid, _buffer(column.values), *self.buffers]
            return pa.Array.from_buffers(pa.string_view(), self.height, buffers)
        if column.kind is Kind.FLAG:
            flags = np.packbits(column.values[0] != 0, bitorder="little")
            return pa.Array.from_buffers(pa.bool_(), self.height, [valid, _buffer(flags)])
        return pa.Array.from_buffers(pa.int64(), self.height, [valid, _buffer(column.values)])


def short_text(text: str) -> Int64s:
    """The two words that a text of INLINE_TEXT_BYTES at most is, in the views of a column. ValueError if longer."""
    held = text.encode()
    if len(held) > INLINE_TEXT_BYTES:
        raise ValueError(f"{text!r} takes {len(held)} bytes, {INLINE_TEXT_BYTES} at most are held whole")
    return np.frombuffer(len(held).to_bytes(4, "little") + held.ljust(INLINE_TEXT_BYTES, b"\0"), np.int64)


def _validity(present: Present) -> pa.Buffer | None:
    return None if present.all() else _buffer(np.packbits(present, bitorder="little"))


def _buffer(array: npt.NDArray[Any]) -> pa.Buffer:
    held: Any = array  # an ndarray gives its buffer, but is not annotated so
    return pa.py_buffer(held)

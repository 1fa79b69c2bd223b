"""The worker's translator over records that are known by their values: what it makes of a row, asked afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from app.codecs.avro.column_arrays import ColumnArrays, ColumnCells, Layout
from app.domain.fingerprint import Origin, pack
from app.domain.records import Record, Value
from app.domain.rows import Cells, merge_rows
from app.domain.source import Kind, with_derived
from app.domain.view import View
from app.engine.core.records.derived import made
from app.engine.core.records.fingerprint import mix_all
from app.engine.core.records.usable import Usable
from app.engine.core.views.aggregate import aggregate

_LONG_AGO_US = -(1 << 61)
"""A watermark at which nothing is late."""


def row_again(view: View, records: Sequence[Record]) -> Cells:
    """The row that the worker's loops make of records that were all applied to it. Texts are left out: they are no
    measure's. What the source's rules say of a record is taken from its values."""
    return merge_rows(view, aggregate(view, _usable(view, records)).rows.cells.tolist())


def _usable(view: View, records: Sequence[Record]) -> Usable:
    full = [with_derived(view.source, record.values) for record in records]
    arrays = _arrays(view, full)
    derived = {one.column.name: made(one, arrays) for one in view.source.derived}
    rules = {rule.name: _cells(Kind.INTEGER, full, rule.name) for rule in view.source.rules_in(view.columns)}
    number = {topic.name: topic.number for topic in view.source.topics}
    origins = [pack(Origin(number[record.topic], record.partition, record.offset)) for record in records]
    packed = np.array(origins, np.int64)
    return Usable(
        index=np.arange(len(records)),
        origins=packed,
        mixes=mix_all(packed),
        watermarks_us=np.full(len(records), _LONG_AGO_US),
        arrays=arrays,
        derived=derived | rules,
        rows=None,
    )


def _arrays(view: View, full: Sequence[Mapping[str, Value]]) -> ColumnArrays:
    arrays = ColumnArrays(Layout(view.source.columns), len(full), [])
    for column in arrays.layout.wanted:
        if column.kind is not Kind.TEXT:
            into, cells = arrays.column(column.name), _cells(column.kind, full, column.name)
            into.values[:], into.present[:] = cells.values, cells.present
    return arrays


def _cells(kind: Kind, full: Sequence[Mapping[str, Value]], name: str) -> ColumnCells:
    held = [values.get(name) for values in full]
    present = np.array([value is not None for value in held], np.bool_)
    numbers = np.array([0 if value is None else value for value in held], np.int64)
    return ColumnCells(kind, numbers[None], present)

"""A view's rows out of a batch: the worker's translator of a view, in compiled loops over columns.

Held equal to the naive fold (`app.domain.oracle.view_fold`) by tests/agreement.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from app.codecs.arrays import Int64s
from app.codecs.avro.column_arrays import INLINE_TEXT_BYTES
from app.codecs.stored.changelog import NULL_INTEGER
from app.codecs.text_column import GroupColumn, TextColumn
from app.codecs.weaving import copied
from app.domain.source import Kind
from app.domain.view import View
from app.engine.core.cells import grouping as g
from app.engine.core.cells.mergers import program, read_by
from app.engine.core.kinds.kernels import kernel_of
from app.engine.core.records.usable import Usable
from app.engine.core.rows.columns import Rows
from app.engine.core.rows.texts import numbered
from app.engine.core.views.placing import placed


class Aggregated(NamedTuple):
    """What a batch gives to a view: one row per key touched, and each usable record's fate (in their order)."""

    rows: Rows
    fates: npt.NDArray[np.int8]


def aggregate(view: View, usable: Usable) -> Aggregated:
    """Rows of the records that are in scope and in time."""
    records = placed(view, usable)
    windows, first_windows, fates = records
    keys = [] if first_windows is None else [first_windows]
    keys += [column for group in view.groups for column in _key_columns(usable, group.column)]
    windows = kernel_of(view).together(keys, records)
    if view.window.ends:
        keys.append(windows)
    together = np.stack(keys, axis=1) if keys else np.empty((len(usable), 0), np.int64)
    numbers = np.empty(len(usable), np.int64)
    first = g.number_groups(together, fates, numbers)
    cells = np.tile(np.array(view.neutral, np.int64), (len(first), 1))
    columns, present = _columns(view, usable)
    g.fold_parts(numbers, columns, present, program(view), cells)
    found = windows[first] if view.window.ends else None
    of_window = [] if first_windows is None else [first_windows[first]]
    return Aggregated(Rows(found, [*of_window, *_groups(view, usable, first)], cells), fates)


def _key_columns(usable: Usable, name: str) -> list[Int64s]:
    """Integers that are equal where the column's values are, null being a value."""
    cells = usable.column(name)
    if cells.kind is not Kind.TEXT:
        return [np.where(cells.present, cells.values[0], NULL_INTEGER)]
    views = np.where(cells.present[:, None], cells.views, -1)  # no text has a length of -1
    if not len(usable) or (views[:, 0] & 0xFFFFFFFF).astype(np.int32).max() <= INLINE_TEXT_BYTES:
        return list(views.T)
    return [numbered(usable.text_bytes(name))[0]]


def _columns(view: View, usable: Usable) -> tuple[Int64s, npt.NDArray[np.bool_]]:
    """What the view's parts read, by the numbers of `program`."""
    read = [usable.column(name) for name in read_by(view)]
    reported = usable.column(view.source.reported_at)
    columns = np.stack([reported.values[0], usable.origins, usable.mixes, *(cells.values[0] for cells in read)])
    always = np.ones(len(usable), np.bool_)
    return columns, np.stack([always, always, always, *(cells.present for cells in read)])


def _groups(view: View, usable: Usable, first: Int64s) -> list[GroupColumn]:
    """The groups' values, from the first record of each row."""
    groups = list[GroupColumn]()
    for group in view.groups:
        if view.source.by_name[group.column].kind is Kind.TEXT:
            groups.append(TextColumn(copied(usable.text_bytes(group.column, first))))
        else:
            cells = usable.column(group.column)
            groups.append(np.where(cells.present[first], cells.values[0][first], NULL_INTEGER))
    return groups

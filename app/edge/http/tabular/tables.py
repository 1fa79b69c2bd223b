"""Rows as a table of columns: instants as timestamps, measures null where there was no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.codecs.arrays import Int64s
from app.codecs.stored.arrow_columns import boolean_column, fingerprint_column, integer_column, text_column
from app.codecs.stored.changelog import NULL_INTEGER, value_of
from app.domain.measures.contract import Shown
from app.domain.rows import COUNT_AT, FINGERPRINT_AT
from app.domain.source import Kind
from app.domain.view import View
from app.edge.http.query.arrangement import shown_names
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.zone_names import Names, name_columns
from app.engine.core.rows.state import Rows
from app.rides.zones import ZONE_COLUMNS

INSTANT = pa.timestamp("us", "UTC")


def table_of(query: RowsQuery, rows: Rows, closed_to_us: int, names: Names) -> pa.Table:
    """Window, whether it is closed and a correction has set some of it since, groups that are kept, measures that are
    asked for, count and fingerprint of each row."""
    view, columns = query.view, dict[str, Any]()
    if rows.windows is not None:
        ends = window_ends(query, rows.windows, rows.cells)
        columns["window_start"] = integer_column(rows.windows).cast(INSTANT)
        columns["window_end"] = integer_column(ends).cast(INSTANT)
        columns["is_closed"] = boolean_column(ends <= closed_to_us)
        none = np.zeros(len(rows), bool)
        columns["is_corrected"] = boolean_column(none if rows.corrected is None else rows.corrected)
    for group, held in zip(query.arrangement.groups_of(view), rows.groups, strict=True):
        is_text = view.source.by_name[group.column].kind is Kind.TEXT
        columns[group.name] = text_column(held) if is_text else integer_column(np.asarray(held), nullable=True)
        if group.column in ZONE_COLUMNS:
            columns |= _names(names, group.name, np.asarray(held))
    wanted = query.arrangement.shown or shown_names(view)
    columns |= {one.name: _measure(view, one, rows.cells) for one in view.shown if one.name in wanted}
    columns["count"] = integer_column(np.ascontiguousarray(rows.cells[:, COUNT_AT]))
    columns["fingerprint"] = fingerprint_column(np.ascontiguousarray(rows.cells[:, FINGERPRINT_AT]))
    return pa.table(columns)


def zones_table(names: Names) -> pa.Table:
    """Number, name and borough of each zone that is known."""
    known = sorted(names.values.values())
    number, name, borough = zip(*known, strict=True) if known else ((), (), ())
    texts = {"name": text_column(_objects(name)), "borough": text_column(_objects(borough))}
    return pa.table({"zone": integer_column(np.array(number, np.int64)), **texts})


def window_ends(query: RowsQuery, starts: Int64s, cells: Int64s) -> Int64s:
    """When each row's window ends; those of one start and last record are asked for once."""
    if query.window_us is not None:
        return starts + query.window_us
    view = query.view
    lasts = cells[:, view.last_at] if view.window.merges else np.zeros(len(starts), np.int64)
    spans, at = np.unique(np.stack([starts, lasts]), axis=1, return_inverse=True)
    ends: Int64s = np.array([view.window.window_end(*span) for span in spans.T.tolist()], np.int64)
    return ends[at.ravel()]


def _measure(view: View, shown: Shown, cells: Int64s) -> Any:
    """What users see of it: a number or a list of numbers, null where it has no value."""
    first = view.cells.index(shown.cells[0])
    if shown.is_list:
        width = len(shown.cells)
        flat = np.ascontiguousarray(cells[:, first : first + width]).ravel()
        return pa.FixedSizeListArray.from_arrays(integer_column(flat), width)
    held = np.ascontiguousarray(cells[:, first])
    if shown.unless_zero is None:
        return integer_column(held)
    absent = cells[:, view.cells.index(shown.unless_zero)] == 0
    return integer_column(np.where(absent, NULL_INTEGER, held), nullable=True)


def _objects(held: Sequence[str]) -> npt.NDArray[Any]:
    return np.array(held, object)


def _names(names: Names, group: str, zones: Int64s) -> dict[str, Any]:
    """Name and borough of each row's zone."""
    known, at = np.unique(zones, return_inverse=True)
    told = [name_columns(names, group, value_of(zone)) for zone in known]
    columns = told[0].keys() if told else name_columns(names, group, None).keys()
    held: dict[str, npt.NDArray[Any]] = {
        name: np.array([one[name] for one in told], object)[at.ravel()] for name in columns
    }
    return {name: text_column(values) for name, values in held.items()}

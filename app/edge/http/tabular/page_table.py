"""Rows of a page as a table, which Arrow and Parquet are written of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from app.codecs.arrays import Int64s
from app.codecs.stored.arrow_columns import double_column, integer_column, text_column, with_meta
from app.codecs.stored.changelog import NULL_INTEGER
from app.domain.figures.contract import Figure
from app.domain.rows import COUNT_AT
from app.edge.formats.format import Document
from app.edge.http.query.arrangement import shown_names
from app.edge.http.query.rows_query import RowsQuery
from app.edge.http.tabular.tables import table_of
from app.edge.http.zone_names import Names
from app.engine.core.rows.state import Rows


def page_table(
    query: RowsQuery,
    rows: Rows,
    closed_to_us: int,
    names: Names,
    sources: Sequence[str],
    ranks: Sequence[int] | None,
    meta: Document,
) -> pa.Table:
    """The columns of `table_of`, before them the rank of each row where rows are ranked; then figures, and what each
    was had from. `meta` is in the schema.

    The columns follow from the query alone: pages of one may be put one below the other.
    """
    table = table_of(query, rows, closed_to_us, names)
    for name, column in figure_columns(query, rows.cells):
        table = table.append_column(name, column)
    table = table.append_column("source", text_column(np.array(sources, object)))
    if ranks is not None:
        table = table.add_column(0, "rank", integer_column(np.array(ranks, np.int64)))
    return with_meta(table, meta)


def figure_columns(query: RowsQuery, cells: Int64s) -> Iterator[tuple[str, Any]]:
    """Those that are asked for: a number in one column, a bin in two, by its ends."""
    view = query.view
    wanted = query.arrangement.shown or shown_names(view)
    figures = [figure for figure in view.figures if figure.name in wanted]
    if not figures:
        return
    told = [view.figured(view.present(row), row[COUNT_AT]) for row in cells.tolist()]
    for figure in figures:
        yield from _columns(figure, [of_row[figure.name] for of_row in told])


def _columns(figure: Figure, values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    if figure.is_number:
        held = np.array([np.nan if value is None else value for value in values], np.float64)
        yield figure.name, double_column(held)
        return
    for at, end in enumerate(("from", "to")):
        ends = [NULL_INTEGER if value is None or value[at] is None else value[at] for value in values]
        yield f"{figure.name}_{end}", integer_column(np.array(ends, np.int64), nullable=True)

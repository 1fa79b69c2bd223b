"""Rows of a view as a frame holds them, whoever made it: the worker's export, its changelog, or a recomputation.

They are keyed by `task`, `window_start_us` and `group_<i>`, and hold `cell_<i>`, both in the view's order.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame

from app.domain.rows import Cells, RowKey
from app.domain.view import View


def key_columns(view: View) -> list[str]:
    """Names of a row's key columns."""
    return ["task", "window_start_us", *group_columns(view)]


def group_columns(view: View) -> list[str]:
    """Names of what stands behind the window in a row's key."""
    return [f"group_{i}" for i in range(len(view.stored_groups))]


def own_group_columns(view: View) -> list[str]:
    """Those of them that users name."""
    return group_columns(view)[len(view.stored_groups) - len(view.groups) :]


def cell_columns(view: View) -> list[str]:
    """Names of a row's cells, in the order of `view.cells`."""
    return [f"cell_{i}" for i in range(len(view.cells))]


def row_schema(view: View) -> str:
    """A row frame's schema, as Spark writes it."""
    groups = [f"group_{i} {'string' if text else 'bigint'}" for i, text in enumerate(view.texts)]
    return ", ".join(
        ["task int", "window_start_us bigint", *groups, *(f"{name} bigint" for name in cell_columns(view))]
    )


def same_key(view: View, left: DataFrame, right: DataFrame) -> Column:
    """Join condition over a row's key; nulls are equal."""
    return reduce(Column.__and__, (left[name].eqNullSafe(right[name]) for name in key_columns(view)))


def cells_of(view: View, row: Any) -> Cells:
    """The cells of a collected row."""
    return tuple(row[name] for name in cell_columns(view))


def key_of(view: View, row: Any) -> RowKey:
    """The key of a collected row."""
    return RowKey(row["window_start_us"], tuple(row[name] for name in key_columns(view)[2:]))

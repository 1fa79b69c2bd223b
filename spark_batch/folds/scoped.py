"""Rows of the windows that a run looks at."""

from __future__ import annotations

from pyspark.sql import DataFrame

from app.domain.view import View
from app.domain.windows.scope import Scope
from spark_batch.folds.windows import columns_of_window


def in_scope(view: View, rows: DataFrame, scope: Scope | None) -> DataFrame:
    """Of stored rows those that a window in the scope has a part in; all, where none can be left out by itself."""
    if scope is None or not scope.narrows(view.window):
        return rows
    kernel = columns_of_window(view)
    if scope.from_us is not None:
        rows = rows.where(~kernel.has_ended(scope.from_us))
    return rows if scope.to_us is None else rows.where(kernel.has_begun(scope.to_us))

"""Rows that no table holds any more, against what was published of them (rules 14, 17).

A row may come and go between two runs, so that none sees it in a table. What it was is then told by its final alone,
merged over tasks, in `windows.<view>`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.view import View
from app.domain.windows.scope import Scope
from spark_batch.findings.finals import ComparedFinals
from spark_batch.folds.finals import final_rows
from spark_batch.folds.recount import Recount
from spark_batch.folds.windows import ROW_END, columns_of_window
from spark_batch.published.compared import CorrectedFinals, compare_finals
from spark_batch.published.reach import closed_to_us, former_to_us, left_to_us, published_to_us, settled_to_us
from spark_batch.published.topics import FinalsTopics, PublishedFinals
from spark_batch.stored.row_frames import own_group_columns


def check_finals(own: Recount, stored: DataFrame, topics: FinalsTopics) -> ComparedFinals | None:
    """What was published of windows that some task has no rows of any more; None where there is nothing of the kind.

    `stored`: the changelog at the cut.
    """
    view, cuts = own.view, own.cuts
    left_us = left_to_us(view, cuts) if view.window.ends else None
    closed_us = None if left_us is None else closed_to_us(view, cuts, stored)
    if left_us is None or closed_us is None:
        return None
    to_us, former_us = min(left_us, published_to_us(view, stored, closed_us)), former_to_us(view, cuts)
    is_meant = _is_meant(view, to_us, former_us, own.scope)
    published = topics.of(view)
    told = PublishedFinals(published.finals.where(is_meant), published.is_whole)
    due = final_rows(view, own.corrected.rows, to_us).where(is_meant)
    return compare_finals(view, due, told, CorrectedFinals(_corrected(own), settled_to_us(view, closed_us)), to_us)


def _is_meant(view: View, to_us: int, former_us: int | None, scope: Scope | None) -> Column:
    """Whether the window is among those that are compared."""
    meant = F.col(ROW_END) <= to_us
    if former_us is not None:
        meant &= F.col(ROW_END) > former_us
    if scope is None or not scope.narrows(view.window):
        return meant
    if scope.from_us is not None:
        meant &= F.col(ROW_END) > scope.from_us
    return meant if scope.to_us is None else meant & (F.col("window_start_us") < scope.to_us)


def _corrected(own: Recount) -> DataFrame:
    """Keys of finals in which rows count that were corrected."""
    view = own.view
    in_windows = columns_of_window(view).by_window(own.corrections.empty_rows(own.judged.sparkSession))
    return in_windows.select("window_start_us", *own_group_columns(view)).distinct()

"""Up to which end of a window finals must have been published at the cut, as the closing stage's own state says."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.stored.changelog import LAYOUT, ROW
from app.codecs.stored.closings import closed_row_prefix, decode_mark, mark_head, task_of
from app.domain.view import View
from spark_batch.folds.windows import ROW_END, columns_of_window
from spark_batch.stored.changelog import changelog_rows
from spark_batch.stored.cut import TaskCut


def left_to_us(view: View, cuts: Sequence[TaskCut]) -> int | None:
    """Some task holds no rows any more of windows that had ended by then; None if no row has left."""
    told = (cut.marker.views[view.name].expired_to_us for cut in cuts)
    return max((at for at in told if at is not None), default=None)


def former_to_us(view: View, cuts: Sequence[TaskCut]) -> int | None:
    """Finals of windows that had ended by then are of a former life of the view in some task."""
    told = (cut.marker.views[view.name].former_to_us for cut in cuts)
    return max((at for at in told if at is not None), default=None)


def closed_to_us(view: View, cuts: Sequence[TaskCut], stored: DataFrame) -> int | None:
    """Up to where the closing stage has what every task had to tell at the cut; None where a task told nothing yet.

    `stored`: the changelog at the cut, where each closing partition keeps every task's mark.
    """
    closed: dict[int, dict[int, int]] = {}
    for row in stored.where(F.col("key").startswith(F.lit(mark_head(view)))).collect():
        mark = decode_mark(bytes(row["value"]))
        closed.setdefault(row["partition"], {})[task_of(bytes(row["key"]))] = mark.closed_to_us
    used = min(cut.marker.closing_partitions or len(cuts) for cut in cuts)
    marks = [closed.get(partition, {}) for partition in range(used)]
    if any(len(of_tasks) < len(cuts) for of_tasks in marks):
        return None
    return min(min(of_tasks.values()) for of_tasks in marks)


def published_to_us(view: View, stored: DataFrame, to_us: int) -> int:
    """All windows that had ended by then have their finals, if everything is right. `stored`: as above, with the rows
    that wait; `to_us`: what `closed_to_us` gives."""
    waits = columns_of_window(view).with_ends(_waiting(view, stored)).agg(F.min(ROW_END)).collect()[0][0]
    return to_us if waits is None else min(to_us, waits - 1)


def settled_to_us(view: View, to_us: int) -> int | None:
    """Finals of windows that had ended by then are published for good, whatever was corrected: no task has their rows
    any more. None where corrections may have come when they were no longer published again.

    A task tells of corrections before it tells that it has closed further, so with `to_us` they are told, too.
    """
    if view.window.overlap or view.revisable_us < view.retention_us:
        return None
    return to_us - view.retention_us


def _waiting(view: View, stored: DataFrame) -> DataFrame:
    """Rows of tasks that wait in the closing stage."""
    waiting = stored.where(F.col("key").startswith(F.lit(closed_row_prefix(view))))
    as_row = F.concat(F.lit(bytes((LAYOUT, ROW))), F.expr("substring(key, 3)"))
    return changelog_rows(waiting.withColumn("key", as_row), view)

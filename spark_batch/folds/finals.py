"""What all tasks' rows come to: one row of each window and group, and which of them can no longer change (rule 17)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.fingerprint import LOW_32
from app.domain.measures.parts import Op, Part, Take
from app.domain.view import View
from spark_batch.folds.mergers import MERGERS
from spark_batch.folds.mix import fingerprint
from spark_batch.folds.windows import ROW_END, columns_of_window
from spark_batch.stored.row_frames import cell_columns, own_group_columns


def final_rows(view: View, made: DataFrame, to_us: int) -> DataFrame:
    """Rows of tasks, as `recompute.rows` gives them, as one of each window and group, with `window_end_us`; of windows
    that ended at or before the instant. ValueError where none ends."""
    kernel, key = columns_of_window(view), ("window_start_us", *own_group_columns(view))
    cells = iter(cell_columns(view))
    merged = [column for part in view.parts for column in _merged(part, [next(cells) for _ in range(part.op.width)])]
    rows = kernel.as_one(kernel.by_window(made)).groupBy(*key).agg(*merged)
    ended = kernel.with_ends(rows).where(F.col(ROW_END) <= to_us)
    return ended.select("window_start_us", ROW_END, *key[1:], *cell_columns(view))


def _merged(part: Part, cells: list[str]) -> list[Column]:
    """The cells of a part over rows of one key."""
    if part.take is Take.FINGERPRINT:
        cell = F.col(cells[0])
        return [fingerprint(F.shiftrightunsigned(cell, 32), cell.bitwiseAND(F.lit(LOW_32))).alias(cells[0])]
    if part.op in (Op.FIRST, Op.LAST):
        best = MERGERS[part.op](F.struct(*cells))
        return [best[name].alias(name) for name in cells]
    return [MERGERS[part.op](F.col(cells[0])).alias(cells[0])]

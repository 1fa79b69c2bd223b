"""Gold: a view's final rows, one of each window and group, by the day (UTC) in which their windows begin.

Every run that finds the view right writes those days whose rows have changed; so what is there was recomputed from the
source's records, and compared, by the run that the last commit names. Cells are as a task stores them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base.files.history import gold_folder
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import LOW_32
from app.domain.obeyed import closed_to_us
from app.domain.view import WINDOW_DAY, WINDOW_END, WINDOW_NAME, View
from app.domain.windows.scope import Scope
from spark_batch.folds.finals import final_rows
from spark_batch.folds.mix import fingerprint
from spark_batch.layers.committed import CommittedTable
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.row_frames import cell_columns, own_group_columns

DAY_US = 86_400_000_000
_DIGEST = "digest"


class GoldTable(CommittedTable):
    """A view's. Its commits tell the `run`; `final_to_us`: all windows that had ended by then are there; `starts`: the
    first offsets that the view covers; and `kept_to_us`: what had ended by then is of a life of the view before those.
    """

    def __init__(self, spark: SparkSession, history: Path, view: View) -> None:
        super().__init__(spark, gold_folder(history, view), apart=[WINDOW_DAY])
        self._view = view

    def keep(self, cuts: Sequence[TaskCut], made: DataFrame, run_id: str, scope: Scope | None = None) -> None:
        """Write what has changed: `made` are the view's rows in all tasks, expired ones too, as they should be.

        `scope`: of which windows rows were compared; nothing is written if that leaves out any that are not there yet.
        Records that the view no longer covers since it was rebuilt without them stay in the rows that are there.
        """
        to_us = closed_to_us(self._view, (cut.marker for cut in cuts))
        is_behind = to_us == NO_WATERMARK or (self.told and to_us < self.told["final_to_us"])
        if is_behind or not self._goes_on_with(scope):
            return
        told = self._to_be_told(cuts, to_us, run_id)
        final = self._with_former(final_rows(self._view, made, to_us), told["kept_to_us"]).cache()
        days = self._changed_days(final)
        some = final.where(F.col(WINDOW_DAY).isin(days)) if days else final.limit(0)
        listed = ", ".join(f"'{day}'" for day in days)
        self.commit(some, told, instead_of=f"{WINDOW_DAY} IN ({listed})" if self.told and days else None)
        final.unpersist()

    def _goes_on_with(self, scope: Scope | None) -> bool:
        if scope is None or not scope.narrows(self._view.window):
            return True
        return bool(self.told) and scope.reaches_on_from(self.told["final_to_us"])

    def _to_be_told(self, cuts: Sequence[TaskCut], to_us: int, run_id: str) -> dict[str, Any]:
        starts = {f"{topic}-{cut.partition}": cut.view_start(topic) for cut in cuts for topic in cut.source_inputs}
        kept_to_us = None
        if self.told:
            kept_to_us = self.told["kept_to_us" if self.told["starts"] == starts else "final_to_us"]
        return {"run": run_id, "final_to_us": to_us, "starts": starts, "kept_to_us": kept_to_us}

    def _with_former(self, final: DataFrame, kept_to_us: int | None) -> DataFrame:
        named = self._named(final)
        if kept_to_us is None:
            return named
        former = F.col(WINDOW_END) <= kept_to_us
        return named.where(~former).unionByName(self.rows().where(former))

    def _named(self, final: DataFrame) -> DataFrame:
        """The rows by the names that users know."""
        view = self._view
        groups = zip(own_group_columns(view), (group.name for group in view.groups), strict=True)
        cells = zip(cell_columns(view), view.cells, strict=True)
        day = F.date_from_unix_date(
            F.expr(f"(window_start_us - pmod(window_start_us, {DAY_US})) div {DAY_US}").cast("int")
        )
        renamed = [F.col(column).alias(name) for column, name in (*groups, *cells)]
        return final.select(F.col("window_start_us").alias(WINDOW_NAME), WINDOW_END, *renamed, day.alias(WINDOW_DAY))

    def _changed_days(self, final: DataFrame) -> list[str]:
        """Days whose rows are not those that are there."""
        now = self._digests(final)
        held = self._digests(self.rows()) if self.told else {}
        return sorted(day for day in now.keys() | held.keys() if now.get(day) != held.get(day))

    def _digests(self, rows: DataFrame) -> dict[str, tuple[int, int]]:
        """By day how many rows it has, and a sum over them in which no order matters."""
        hashed = rows.withColumn(_DIGEST, F.xxhash64(*_hashed(rows)))
        digest = F.col(_DIGEST)
        summed = fingerprint(F.shiftrightunsigned(digest, 32), digest.bitwiseAND(F.lit(LOW_32)))
        by_day = hashed.groupBy(F.col(WINDOW_DAY).cast("string").alias(WINDOW_DAY))
        told = by_day.agg(F.count(F.lit(1)).alias("rows"), summed.alias(_DIGEST)).collect()
        return {row[WINDOW_DAY]: (row["rows"], row[_DIGEST]) for row in told}


def _hashed(rows: DataFrame) -> list[Column]:
    """All columns, nulls told apart from what is not there."""
    return [column for name in sorted(rows.columns) for column in (F.col(f"`{name}`"), F.isnull(f"`{name}`"))]

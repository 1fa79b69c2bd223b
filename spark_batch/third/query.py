"""The third opinion: a view kept by Spark as a stream, by Spark's own rule of what is late.

topics ─▶ decode, judge ─▶ window, group, drop what is late ─▶ rows of each batch ─▶ Delta
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.streaming.query import StreamingQuery

from app.domain.difference import Fate
from app.domain.event_time import NO_WATERMARK
from app.domain.view import View
from spark_batch.folds.recompute import aggregated, judged
from spark_batch.folds.windows import PANE, columns_of_window
from spark_batch.stored.cut import Span
from spark_batch.stored.row_frames import cell_columns, group_columns, key_columns
from spark_batch.third.batch import ThirdBatch, read_batch, read_starts
from spark_batch.third.place import ThirdPlace
from spark_batch.third.table import ThirdTable

OnKept = Callable[[ThirdBatch, Sequence[Span]], None]
"""Called once a batch is kept, with what it has read."""


def is_kept(view: View) -> bool:
    """Whether a query can keep the view."""
    return columns_of_window(view).streams


def start_query(
    spark: SparkSession, view: View, records: DataFrame, place: ThirdPlace, trigger: Mapping[str, Any], taken: OnKept
) -> StreamingQuery:
    """Start it, or let it go on behind the last batch that is kept; `records`: as `read_stream` gives them."""
    table = ThirdTable(spark, place.folder)

    def keep(rows: DataFrame, number: int) -> None:
        batch = read_batch(place.checkpoint, number)
        taken(batch, table.take(batch, read_starts(place.checkpoint), rows))

    writer = _rows(view, records).writeStream.outputMode("update").foreachBatch(keep)
    return writer.option("checkpointLocation", str(place.checkpoint)).trigger(**trigger).start()


def await_end(query: StreamingQuery) -> None:
    """Wait until it ends; end it where this is interrupted. What a query that failed raises is raised.

    It is waited for in a thread of its own: py4j would answer whatever comes next only behind a question left half-way.
    """
    with ThreadPoolExecutor(1) as waiting:
        try:
            waiting.submit(query.awaitTermination).result()
        finally:
            query.stop()


def _rows(view: View, records: DataFrame) -> DataFrame:
    """Rows of the view that a batch has changed, as they are then."""
    never_late = records.where(F.col("reason").isNull()).withColumn("watermark_us", F.lit(NO_WATERMARK))
    applied = judged(view, never_late).where(F.col("fate") == Fate.APPLIED.value)
    in_panes = columns_of_window(view).in_stream(applied)
    rows = aggregated(view, in_panes, ["task", *group_columns(view), PANE])
    return rows.withColumn("window_start_us", F.unix_micros(f"{PANE}.start")).select(
        *key_columns(view), *cell_columns(view)
    )

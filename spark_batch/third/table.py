"""What the query has kept: a view's rows as of every batch, and which offsets each batch has read.

Two Delta tables. A batch is there once it is in `batches`, which is written last; one that is taken again after a crash
is the same batch, and finds its rows written already.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.records import TopicPartition
from app.domain.view import View
from spark_batch.stored.cut import Span
from spark_batch.stored.row_frames import cell_columns, key_columns
from spark_batch.third.batch import StreamOffsets, ThirdBatch

ROWS, BATCHES = "rows", "batches"
"""The folders of the two."""
WRITER = "flagfall-third"
"""Under which Delta knows batches that were written."""
BATCHES_UNTIL_TIDIED = 500
"""Then the small files that they left are put together."""
_FIELDS: list[pa.Field[Any]] = [
    pa.field("batch", pa.int64()),
    pa.field("topic", pa.string()),
    pa.field("partition", pa.int32()),
    pa.field("start_offset", pa.int64()),
    pa.field("next_offset", pa.int64()),
    pa.field("late_below_us", pa.int64()),
]
_SPANS = pa.schema(_FIELDS)


class ThirdTable:
    """Of one view, below `folder`."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._rows, self._batches = spark, folder / ROWS, folder / BATCHES

    @property
    def has_batches(self) -> bool:
        """Whether it holds any yet."""
        return DeltaTable.is_deltatable(str(self._batches))

    @property
    def batches(self) -> DataFrame:
        """The offsets `[start_offset, next_offset)` of each batch by topic and partition, where it read any, and its
        `late_below_us`. There must be some."""
        return self._spark.read.format("delta").load(str(self._batches))

    def rows_at(self, view: View, batch: int) -> DataFrame:
        """The view's rows when that batch had been taken."""
        known = self._spark.read.format("delta").load(str(self._rows)).where(F.col("batch") <= batch)
        last = F.max_by(F.struct(*cell_columns(view)), "batch").alias("last")
        return known.groupBy(*key_columns(view)).agg(last).select(*key_columns(view), "last.*")

    def take(self, batch: ThirdBatch, starts: StreamOffsets, rows: DataFrame) -> Sequence[Span]:
        """Add the rows that a batch has changed, unless it has been taken, and tell what it has read. `starts`: where
        the first of all begins."""
        spans = [
            Span(at.topic, at.partition, start, end)
            for at, end in sorted(batch.ends.items())
            if (start := max(self._ends.get(at, 0), starts.get(at, 0))) < end
        ]
        told = {"txnAppId": WRITER, "txnVersion": str(batch.number)}
        whole = rows.withColumn("batch", F.lit(batch.number).cast("bigint")).coalesce(1)
        whole.write.format("delta").mode("append").options(**told).save(str(self._rows))
        if spans:
            self._tell(batch, spans)
        return spans

    def _tell(self, batch: ThirdBatch, spans: Sequence[Span]) -> None:
        rows = [(batch.number, span.topic, span.partition, span.start, span.end, batch.late_below_us) for span in spans]
        columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), _SPANS, strict=True)]
        write_deltalake(str(self._batches), pa.table(columns, schema=_SPANS), mode="append")
        self._ends.update({span.at: span.end for span in spans})
        if batch.number % BATCHES_UNTIL_TIDIED == 0:
            for folder in (self._rows, self._batches):
                DeltaTable(str(folder)).optimize.compact()
                DeltaTable(str(folder)).vacuum(dry_run=False)

    @cached_property
    def _ends(self) -> dict[TopicPartition, int]:
        """Up to where batches have read."""
        if not self.has_batches:
            return {}
        last = self.batches.groupBy("topic", "partition").agg(F.max("next_offset").alias("end")).collect()
        return {TopicPartition(row["topic"], row["partition"]): row["end"] for row in last}

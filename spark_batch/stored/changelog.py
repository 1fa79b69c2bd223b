"""What the changelog holds of views at the cut: latest value per key up to the marker, tombstones left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.stored.changelog import block_head, decode_block, decode_rows
from app.codecs.stored.closings import closed_row_prefix, mark_head
from app.codecs.stored.export import record_batch
from app.codecs.stored.row_keys import decode_keys, row_prefix
from app.domain.naming.blocks import BlockPlace, BlockTotals
from app.domain.records import TopicPartition
from app.domain.view import View
from spark_batch.stored.cut import Span, TaskCut
from spark_batch.stored.export_client import as_rows
from spark_batch.stored.row_frames import row_schema


def changelog_spans(topic: str, log_starts: Mapping[TopicPartition, int], cuts: Sequence[TaskCut]) -> list[Span]:
    """What must be read of the changelog: from the log's start up to and including the last marker of each task.

    A task that has committed nothing yet has no marker, and nothing of it is read.
    """
    ends: dict[TopicPartition, int] = {}
    for cut in (cut for cut in cuts if cut.has_committed):
        at = TopicPartition(topic, cut.partition)
        ends[at] = max(ends.get(at, 0), cut.changelog_offset + 1)
    return [Span(*at, min(log_starts[at], end), end) for at, end in sorted(ends.items())]


def latest(raw: DataFrame, cuts: Sequence[TaskCut]) -> DataFrame:
    """Latest key and value per row and block of the views of `cuts`, each view at its own marker; and of what waits in
    the closing stage there, with the marks."""
    at_cut = raw.where(reduce(Column.__or__, (_belongs(cut) for cut in cuts), F.lit(False)))
    newest = F.max_by("value", "offset").alias("value")
    return at_cut.groupBy("partition", "key").agg(newest).where(F.col("value").isNotNull())


def changelog_rows(stored: DataFrame, view: View) -> DataFrame:
    """One view's rows out of `latest`, as a row frame."""

    def decoded(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                yield from _decode(view, batch).to_batches()

    return stored.where(_has_prefix(view)).mapInArrow(decoded, row_schema(view))


def changelog_blocks(stored: DataFrame, view: View) -> BlockTotals:
    """What the tasks say out of `latest` that they applied of each block."""
    found = {}
    for row in stored.where(_is_block(view)).collect():
        key, count, fingerprint = decode_block(bytes(row["key"]), bytes(row["value"]))
        found[BlockPlace(key.topic_number, row["partition"], key.block)] = count, fingerprint
    return found


def _decode(view: View, batch: pa.RecordBatch) -> pa.Table:
    keys: list[Any] = batch["key"].to_pylist()
    values: list[Any] = batch["value"].to_pylist()
    windows, groups = decode_keys(view, keys)
    table = pa.Table.from_batches([record_batch(view, windows, groups, decode_rows(values, len(view.cells)))])
    return as_rows(view, 0, table).set_column(0, "task", batch["partition"])


def _belongs(cut: TaskCut) -> Column:
    in_reach = (F.col("partition") == cut.partition) & (F.col("offset") <= cut.changelog_offset)
    closing = (F.col("key").startswith(F.lit(head(cut.view))) for head in (closed_row_prefix, mark_head))
    return in_reach & reduce(Column.__or__, closing, _has_prefix(cut.view) | _is_block(cut.view))


def _is_block(view: View) -> Column:
    return F.col("key").startswith(F.lit(block_head(view.number, view.version)))


def _has_prefix(view: View) -> Column:
    return F.col("key").startswith(F.lit(row_prefix(view)))

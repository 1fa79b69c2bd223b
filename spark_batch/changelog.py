"""The rows that the changelog holds at the cut: latest value per key up to the marker, tombstones left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.changelog import NULL_INTEGER, NULL_TAG, decode_key, decode_rows, row_prefix
from app.codecs.export import record_batch
from app.domain.records import TopicPartition
from app.domain.source import Kind
from app.domain.view import AllTime, View
from spark_batch.cut import Span, TaskCut
from spark_batch.export_client import as_rows
from spark_batch.recompute import row_schema

Int64s = npt.NDArray[np.int64]


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
    """Latest key and value per row of the views of `cuts`, each view at its own marker."""
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


def decode_keys(view: View, keys: Sequence[bytes]) -> tuple[Int64s | None, list[npt.NDArray[Any]]]:
    """Window starts and group columns of row keys; NULL_INTEGER stands for a null number."""
    texts = [view.source.by_name[group.column].kind is Kind.TEXT for group in view.groups]
    if any(texts):
        return _decode_keys_one_by_one(view, keys, texts)
    prefix = len(row_prefix(view))
    raw = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1)[:, prefix:]
    windows = None
    if not isinstance(view.window, AllTime):
        windows, raw = _numbers(raw[:, :8]), raw[:, 8:]
    groups = []
    for at in range(0, raw.shape[1], 9):
        numbers = _numbers(raw[:, at + 1 : at + 9])
        groups.append(np.where(raw[:, at] == NULL_TAG, np.int64(NULL_INTEGER), numbers))
    return windows, groups


def _decode_keys_one_by_one(
    view: View, keys: Sequence[bytes], texts: Sequence[bool]
) -> tuple[Int64s | None, list[npt.NDArray[Any]]]:
    decoded = [decode_key(view, key) for key in keys]
    windows = None if isinstance(view.window, AllTime) else np.array([key.window_start_us for key in decoded], np.int64)
    groups = []
    for i, text in enumerate(texts):
        values = [key.group[i] for key in decoded]
        held = values if text else [NULL_INTEGER if value is None else value for value in values]
        groups.append(np.array(held, object if text else np.int64))
    return windows, groups


def _decode(view: View, batch: pa.RecordBatch) -> pa.Table:
    keys: list[Any] = batch["key"].to_pylist()
    values: list[Any] = batch["value"].to_pylist()
    windows, groups = decode_keys(view, keys)
    table = pa.Table.from_batches([record_batch(view, windows, groups, decode_rows(values, len(view.cells)))])
    return as_rows(view, 0, table).set_column(0, "task", batch["partition"])


def _numbers(big_endian: npt.NDArray[np.uint8]) -> Int64s:
    return np.ascontiguousarray(big_endian).view(">i8").reshape(-1).astype(np.int64)


def _belongs(cut: TaskCut) -> Column:
    in_reach = (F.col("partition") == cut.partition) & (F.col("offset") <= cut.changelog_offset)
    return in_reach & _has_prefix(cut.view)


def _has_prefix(view: View) -> Column:
    return F.col("key").startswith(F.lit(row_prefix(view)))

"""Fetches the cut: each task's rows of a view, as the workers export them, with the marker they stand at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from app.base.asking import Unanswered
from app.base.exported import exported
from app.base.worker_door import WorkerDoor
from app.codecs.stored.export import ExportMetadata, check_digest, read_export
from app.domain.catalogue import TaskGroup
from app.domain.errors import LayoutError
from app.domain.view import View
from spark_batch.errors import Inconclusive, Invalid, other_release
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.row_frames import cell_columns, key_columns, row_schema


@dataclass(frozen=True, slots=True)
class Export:
    """One task's rows of one view, saved as Parquet at `file`."""

    cut: TaskCut
    row_count: int
    digest: int
    file: Path


def fetch_exports(
    worker: WorkerDoor, group: TaskGroup, view: View, partitions: Sequence[int], folder: Path
) -> list[Export]:
    """All tasks' exports of a view, saved below `folder`.

    Raises Inconclusive where the workers are not ready, Invalid where what they send is not what it says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [_fetch(worker, group, view, partition, folder) for partition in partitions]


def live_rows(spark: SparkSession, view: View, exports: Sequence[Export]) -> DataFrame:
    """The exported rows of all tasks."""
    return spark.read.schema(row_schema(view)).parquet(*(str(export.file) for export in exports))


def as_rows(view: View, partition: int, table: pa.Table) -> pa.Table:
    """An export's table with the column names of a row frame."""
    task = pa.repeat(pa.scalar(partition, pa.int32()), table.num_rows)
    return pa.table([task, *table.columns], names=[*key_columns(view), *cell_columns(view)])


def _fetch(worker: WorkerDoor, group: TaskGroup, view: View, partition: int, folder: Path) -> Export:
    path = f"/v1/views/{view.name}/export"
    try:
        received = exported(worker, view.name, partition, is_proxied=True)
    except Unanswered as error:
        raise Inconclusive(f"{error}; is a worker running there?") from error
    try:
        metadata, table = read_export(received)
    except LayoutError as error:
        raise Inconclusive(f"GET {path}?partition={partition}: {error}") from error
    check_marker(group, view, partition, metadata)
    try:
        check_digest(view, metadata, table)
    except LayoutError as error:
        raise Invalid(f"GET {path}?partition={partition}: {error}") from error
    rows = as_rows(view, partition, table)
    if (keys := rows.group_by(key_columns(view)).aggregate([]).num_rows) != rows.num_rows:
        raise Invalid(f"the export of {view.name} partition {partition} has {rows.num_rows} rows for {keys} keys")
    file = folder / f"task-{partition}.parquet"
    pq.write_table(rows, file)
    cut = TaskCut.of(view, partition, metadata.marker, metadata.changelog_offset)
    return Export(cut, metadata.row_count, metadata.digest, file)


def check_marker(group: TaskGroup, view: View, partition: int, metadata: ExportMetadata) -> None:
    """Raises Invalid unless the export is the one asked for, Inconclusive unless its marker speaks of the view."""
    marker = metadata.marker
    if (metadata.partition, marker.partition, marker.source) != (partition, partition, group.number):
        raise Invalid(
            f"export of {view.name} partition {partition} came with the marker of group {marker.source} "
            f"partition {marker.partition}: the worker mixed up its tasks"
        )
    position = marker.views.get(view.name)
    if position is None or position.version != view.version:
        raise other_release(partition, view.name, view.version, None if position is None else position.version)
    if position.state != "live":
        raise Inconclusive(f"{view.name} partition {partition} is still {position.state}; run it again when it is live")

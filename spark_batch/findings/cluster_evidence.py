"""The records behind clusters of rows that merge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import ComparedRow, RowPlace
from app.domain.naming.clusters import RowClusters
from app.domain.naming.evidence import Translator
from app.domain.records import Record
from app.domain.rows import Cells
from spark_batch.findings.evidence import SparkEvidence
from spark_batch.folds.recount import Recount
from spark_batch.stored.row_frames import group_columns, row_schema

_FIRST, _LAST = "cluster_first_us", "cluster_last_us"


class ClusterEvidence(SparkEvidence):
    """Evidence for these clusters in place of the view's rows."""

    def __init__(
        self, recount: Recount, stored: DataFrame, translator: Translator | None, clusters: RowClusters
    ) -> None:
        super().__init__(recount, stored, translator)
        self.clusters = clusters

    @cached_property
    def covered(self) -> DataFrame:
        """Records that are in a cluster have its key."""
        groups = group_columns(self.view)
        keys = row_schema(self.view).split(", ")[: 2 + len(groups)]
        told = [(one.partition, one.key.window_start_us, *one.key.group, one.last_us) for one in self.clusters.all]
        clusters = F.broadcast(
            self._spark.createDataFrame(told, ", ".join([*keys, f"{_LAST} bigint"])).withColumnRenamed(
                "window_start_us", _FIRST
            )
        )
        records = super().covered
        inside = records["window_start_us"].between(clusters[_FIRST], clusters[_LAST])
        for name in ("task", *groups):
            inside &= records[name].eqNullSafe(clusters[name])
        own: list[Column] = [
            F.coalesce(clusters[_FIRST], records[name]).alias(name) if name == "window_start_us" else records[name]
            for name in records.columns
        ]
        return records.join(clusters, inside, "left").select(*own)

    def _as_named(self, made: Iterable[tuple[RowPlace, Cells]]) -> Mapping[RowPlace, Cells]:
        return self.clusters.folded(made)

    def _translated(self, row: ComparedRow, records: Sequence[Record], translator: Translator) -> Cells:
        return self.clusters.translated(row, records, translator)

"""A Delta table each of whose commits says something of all that it holds.

What is told and what is held enter in one commit, so neither is there without the other, wherever a run breaks off. A
transaction is named after what was told before it, so of two runs that write at once only one does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from app.base.files.history import last_told, write_told
from spark_batch.errors import Inconclusive, Invalid

LOG_KEPT = "interval 36500 days"
"""Of a table's commits, for what they tell. One a run is a few kilobytes."""


class CommittedTable:
    """The table at `folder`, which need not be there yet; partitioned by the columns `apart`."""

    def __init__(self, spark: SparkSession, folder: Path, apart: Sequence[str] = ()) -> None:
        self._spark, self.folder, self._apart = spark, folder, list(apart)
        self.told: Any = self._read_told()
        """What the last commit says, as JSON's values; None where no table is."""

    def rows(self) -> DataFrame:
        """All of it. It must be there."""
        return self._spark.read.format("delta").load(str(self.folder))

    def commit(self, rows: DataFrame, told: Any, *, instead_of: str | None = None) -> None:
        """Add the rows, in the place of those for which the SQL condition `instead_of` holds, and tell something new.

        Inconclusive if another run has written to it meanwhile; then nothing was.
        """
        options = {
            "txnAppId": f"flagfall-{hashlib.sha256(write_told(self.told).encode()).hexdigest()[:16]}",
            "txnVersion": "1",
            "userMetadata": write_told(told),
            "delta.logRetentionDuration": LOG_KEPT,
            **({"replaceWhere": instead_of} if instead_of else {}),
        }
        writer = rows.write.format("delta").mode("overwrite" if instead_of else "append").options(**options)
        try:
            (writer.partitionBy(*self._apart) if self._apart else writer).save(str(self.folder))
        except PySparkException as error:
            if "DELTA_CONCURRENT" not in str(error):
                raise
            raise self._changed() from error
        self.told = self._read_told()
        if self.told != told:
            raise self._changed()

    def _read_told(self) -> Any:
        if not DeltaTable.is_deltatable(str(self.folder)):
            return None
        told = last_told(DeltaTable(self.folder))
        if told is None:
            raise Invalid(f"{self.folder}: no commit of this table says what it holds: move it away")
        return told

    def _changed(self) -> Inconclusive:
        return Inconclusive(f"{self.folder}: another run has written to it meanwhile; run it again")

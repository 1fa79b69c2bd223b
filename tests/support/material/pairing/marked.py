"""Logs of calls and bills as Spark has them when it recomputes."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_batch.source.read_source import read_source
from spark_batch.source.watermark import with_watermark
from tests.support.material.pairing.calls import SCHEMAS, CallLog


def marked(spark: SparkSession, log: CallLog, folder: Path) -> DataFrame:
    """The log's records as a recomputation reads them."""
    batch = log.batch(0, log.end)
    told = [
        (log.topic, 0, offset, timestamp_ms, None, None if value is None else bytearray(value))
        for offset, timestamp_ms, value in zip(
            batch.offsets.tolist(), batch.timestamps_ms.tolist(), batch.values, strict=True
        )
    ]
    schema = "topic string, partition int, offset long, timestamp_ms long, key binary, value binary"
    raw = spark.createDataFrame(told, schema)
    records = read_source(raw, log.source, SCHEMAS, folder / log.topic)
    return with_watermark(records, log.source, log.raised)

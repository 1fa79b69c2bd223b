"""Logs as Spark reads them: what a test holds as plain records, as a frame of Kafka's columns."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from tests.support.material.histories import (
    Log,
)


def as_kafka(spark: SparkSession, logs: list[Log]) -> DataFrame:
    """The logs as Spark's Kafka source would give them."""
    told = [
        (log.topic, log.partition, offset, timestamp_ms, None, None if value is None else bytearray(value))
        for log in logs
        for offset, timestamp_ms, value in log.entries
    ]
    schema = "topic string, partition int, offset long, timestamp_ms long, key binary, value binary"
    return spark.createDataFrame(told, schema)

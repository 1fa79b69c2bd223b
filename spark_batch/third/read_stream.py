"""The same records as they come: decoded and judged as `read_source` does, in a stream that Spark keeps reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.avro.schema import Schemas
from app.domain.rules.epochs import AS_DECLARED
from app.domain.source import Source
from spark_batch.source.decode_avro import decode, with_reasons
from spark_batch.source.read_source import PLACE, judged_strictly, suspect_schema, topic_number

OFFSETS_AT_ONCE = 200_000
"""Of all topics together: a watermark moves between batches alone, and one batch of everything would find none late."""

HeldSchemas = Callable[[], Schemas]
"""Gives the registry's schemas; called where a record is judged strictly, on whatever machine that is."""


def read_stream(
    spark: SparkSession,
    java_options: Mapping[str, str],
    source: Source,
    columns: Sequence[str],
    schemas: Schemas,
    held: HeldSchemas,
    offsets_at_once: int = OFFSETS_AT_ONCE,
) -> DataFrame:
    """Place, `columns` and `reason` of every committed record, from the first that the topics hold on.

    `schemas`: those that the JVM reads. Records of others, of schemas too that are registered later, go through the
    strict decoder one by one, with what `held` gives.
    """
    options = {f"kafka.{name}": value for name, value in java_options.items()} | {
        "kafka.isolation.level": "read_committed",
        "subscribe": ",".join(topic.name for topic in source.topics),
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
        "maxOffsetsPerTrigger": str(offsets_at_once),
    }
    raw = spark.readStream.format("kafka").options(**options).load()
    placed = raw.select("topic", "partition", "offset", F.unix_millis("timestamp").alias("timestamp_ms"), "value")
    known = [schema for schema in schemas.values() if schema is not None]
    full = with_reasons(decode(placed, source, known), source, AS_DECLARED)
    numbered = full.withColumn("topic_number", topic_number(source))
    value = F.when(F.col("suspect"), F.col("value")).alias("value")
    told = numbered.select(*PLACE, "reason", *columns, "suspect", value)
    judge = partial(_with_suspects_judged, source=source, columns=columns, held=held)
    return told.mapInArrow(judge, told.drop("suspect", "value").schema)


def _with_suspects_judged(
    batches: Iterator[pa.RecordBatch], source: Source, columns: Sequence[str], held: HeldSchemas
) -> Iterator[pa.RecordBatch]:
    schema, schemas = suspect_schema(source, columns), None
    for batch in batches:
        suspects = batch.filter(batch["suspect"])
        yield batch.filter(pc.invert(batch["suspect"])).select(schema.names)
        if suspects.num_rows:
            schemas = schemas or held()
            rows = (tuple(row[name] for name in (*PLACE, "value")) for row in suspects.to_pylist())
            judged = judged_strictly(rows, source, schemas)
            picked = [{name: one[name] for name in schema.names} for one in judged]
            yield pa.RecordBatch.from_pylist(picked, schema)

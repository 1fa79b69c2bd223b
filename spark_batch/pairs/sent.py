"""What joins and alerts have written: a copy of their topics as they are now."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame

from app.base.kafka.clients import java_options
from app.base.names import subject_of
from app.base.registry.client import Registry
from app.base.registry.schemas import RegistrySchemas
from app.domain.pairs.pairing import Pairing
from app.domain.records import TopicPartition
from spark_batch.run import Reconciliation
from spark_batch.source.decode_avro import decode
from spark_batch.source.kafka_range import read_spans, told_by
from spark_batch.stored.cut import Span


@dataclass(frozen=True)
class Sent:
    """`records`: task, offset and the columns of the pairing's source, all null where a value is none of ours.

    `starts`: by task where the topic begins now, as what is older has been deleted.
    """

    records: DataFrame
    starts: dict[int, int]


def copy_sent(run: Reconciliation, pairing: Pairing) -> Sent:
    """All that the topic holds, once what was being written is decided."""
    topic, source = pairing.output.name, pairing.source
    places = [TopicPartition(topic, partition) for partition in range(run.decided_partitions(topic))]
    with told_by(run.cluster):
        starts, ends = run.cluster.log_starts(places), run.cluster.log_ends(places, committed=True)
    spans = [Span(topic, at.partition, starts[at], ends[at]) for at in places]
    schemas = RegistrySchemas(Registry(run.settings), [subject_of(topic)]).values()
    raw = read_spans(run.spark, java_options(run.settings.kafka), spans)
    columns = [column.name for column in source.columns]
    decoded = decode(raw, source, [schema for schema in schemas if schema is not None])
    folder = str(run.work / pairing.name)
    decoded.selectExpr("partition as task", "offset", *columns).write.parquet(folder)
    return Sent(run.spark.read.parquet(folder), {at.partition: start for at, start in starts.items()})

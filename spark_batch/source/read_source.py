"""Every record of a source below the cut, decoded or refused with a reason, in one pass over Kafka.

The pass is stored as Parquet in the run's directory, as all that follows reads it several times: the columns that are
asked for, and the bytes of suspects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.codecs.avro.schema import HEADER_BYTES, Schemas
from app.codecs.avro.strict import StrictDecoder, Unreadable
from app.codecs.column_types import HELD
from app.domain.pairs.pairing import Pairing
from app.domain.records import Place, Record
from app.domain.rules.admission import refusal
from app.domain.rules.epochs import AS_DECLARED, Rules
from app.domain.source import Source, with_derived
from app.domain.view import View
from spark_batch.source.decode_avro import LARGE_BYTES, decode, with_reasons
from spark_batch.source.places import ORIGIN

SUSPECTS_AT_ONCE = 20_000
PLACE = (*ORIGIN, "timestamp_ms")
"""Columns that say where a record stands, and when it was written."""
_ASIDE = ("header", "suspect", "is_large", "value")
"""Columns that are dropped once suspects are judged."""
USABLE_TODAY = "usable_today"
"""Column: whether a record was refused for what was so then (`with_refused_then`), and is usable by what is so now."""
STORED = "decoded"
"""Where all are stored, below a run's folder, with the first bytes of each value as `header`."""


ValueAt = Callable[[Place], bytes | None]
"""The value of a record that stands there."""


def kept_columns(source: Source, views: Sequence[View], pairing: Sequence[Pairing] = ()) -> list[str]:
    """Columns that views, joins and alerts read, those that others are derived from, what raises watermarks, and the
    record's id and key as evidence."""
    bases = {name for derived in source.derived for name in derived.bases}
    paired = {name for one in pairing for name in one.columns_of(source)}
    own = {source.id, source.key, source.reported_at, *source.told_apart_by}
    return sorted({name for view in views for name in view.columns} | paired | bases | own)


def read_source(
    raw: DataFrame,
    source: Source,
    schemas: Schemas,
    folder: Path,
    rules: Rules = AS_DECLARED,
    look_up: ValueAt | None = None,
    columns: Sequence[str] | None = None,
) -> DataFrame:
    """Place, `columns` (None: all), `reason` (null where usable) and `usable_today` of every record in `raw`; stored
    below `folder`.

    `raw` may be `shortened`. Of `rules` the skews count, which are the source's. `look_up` gives values of more than
    LARGE_BYTES, which are then not stored. What an earlier call has stored there gives way.
    """
    known = [schema for schema in schemas.values() if schema is not None]
    columns = sorted(source.by_name) if columns is None else columns
    framed = shortened(raw, LARGE_BYTES if look_up else None)
    full = with_reasons(decode(framed, source, known), source, rules).withColumn("topic_number", topic_number(source))
    value = F.when(F.col("suspect"), F.col("value")).alias("value")
    stored = full.select(*PLACE, "reason", *columns, "header", "suspect", "is_large", value)
    stored.write.parquet(str(folder / STORED), mode="overwrite")
    spark = raw.sparkSession
    decoded = spark.read.parquet(str(folder / STORED))
    judge_suspects(decoded.where("suspect"), source, columns, schemas, folder / "suspects.parquet", rules, look_up)
    resolved = _load(spark, folder / "suspects.parquet", decoded)
    records = decoded.where("not suspect").drop(*_ASIDE).unionByName(resolved)
    return records.withColumn(USABLE_TODAY, F.lit(False))


def shortened(raw: DataFrame, most_bytes: int | None = LARGE_BYTES) -> DataFrame:
    """`raw` with `header`, the first bytes of each value, and `is_large`; large values and keys are left out of it:
    Parquet holds a hundred in memory before it looks at their size. What is so already stays."""
    if "is_large" in raw.columns:
        return raw
    header = F.substring("value", 1, HEADER_BYTES)
    if most_bytes is None:
        return raw.withColumns({"header": header, "is_large": F.lit(False)})
    large = F.coalesce(F.length("value") > most_bytes, F.lit(False))
    key = F.when(F.length("key") <= most_bytes, F.col("key"))
    return raw.withColumns({"header": header, "is_large": large, "key": key, "value": F.when(~large, F.col("value"))})


def topic_number(source: Source) -> Column:
    """The number of the topic that a record's `topic` names."""
    numbers = F.create_map(*(F.lit(x) for topic in source.topics for x in (topic.name, topic.number)))
    return numbers[F.col("topic")]


def judge_suspects(
    suspects: DataFrame,
    source: Source,
    columns: Sequence[str],
    schemas: Schemas,
    file: Path,
    rules: Rules = AS_DECLARED,
    look_up: ValueAt | None = None,
) -> None:
    """Decode suspects strictly, one by one, and write what each is."""
    schema = suspect_schema(source, columns)
    topics = {topic.number: topic.name for topic in source.topics}
    rows = _with_large(suspects.select(*PLACE, "value", "is_large").toLocalIterator(), topics, look_up)
    with pq.ParquetWriter(file, schema) as writer:
        judged = judged_strictly(rows, source, schemas, rules)
        while some := list(islice(judged, SUSPECTS_AT_ONCE)):
            picked = [{name: one[name] for name in schema.names} for one in some]
            writer.write_table(pa.Table.from_pylist(picked, schema))


def _with_large(rows: Iterator[Any], topics: dict[int, str], look_up: ValueAt | None) -> Iterator[Any]:
    for number, partition, offset, timestamp_ms, value, large in rows:
        whole = look_up(Place(topics[number], partition, offset)) if large and look_up else value
        yield number, partition, offset, timestamp_ms, whole


def judged_strictly(
    rows: Iterable[tuple[Any, ...]], source: Source, schemas: Schemas, rules: Rules = AS_DECLARED
) -> Iterator[dict[str, Any]]:
    """What each of them is, by column, with its place and the `reason` for which it is refused, if it is. `rows`: PLACE
    and the value."""
    topics = {topic.number: topic.name for topic in source.topics}
    nothing, strict = dict.fromkeys(source.by_name), StrictDecoder(source.columns)
    for number, partition, offset, timestamp_ms, value in rows:
        place = dict(zip(PLACE, (number, partition, offset, timestamp_ms), strict=True))
        told = strict.decode(None if value is None else bytes(value), schemas)
        if isinstance(told, Unreadable):
            yield nothing | place | {"reason": told.reason}
            continue
        record = Record(topics[number], partition, offset, timestamp_ms, told)
        full = with_derived(source, told)
        reason = refusal(source, record, full, rules)
        yield (nothing if reason else full) | place | {"reason": reason}


def suspect_schema(source: Source, columns: Sequence[str]) -> pa.Schema:
    """Of what `judged_strictly` gives of these columns."""
    place: list[pa.Field[Any]] = [pa.field("topic_number", pa.int32()), pa.field("partition", pa.int32())]
    place += [
        pa.field("offset", pa.int64()),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("reason", pa.string()),
    ]
    return pa.schema(place + [pa.field(name, HELD[source.by_name[name].kind].arrow) for name in columns])


def _load(spark: SparkSession, file: Path, like: DataFrame) -> DataFrame:
    return spark.read.schema(like.drop(*_ASIDE).schema).parquet(str(file))

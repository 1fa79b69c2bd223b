"""Record batches that Kafka's Java client cannot read: spans are read around them, as workers went on behind them.

It would fail at them for ever; and a record that says it stands behind its batch would hide others from it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import zip_longest

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from app.domain.records import UNREADABLE_BATCH, Place, TopicPartition
from spark_batch.errors import Invalid
from spark_batch.source.kafka_range import RECORD_SCHEMA
from spark_batch.stored.cut import Span

MOST_PIECES = 100
"""Each is a reading of its own."""
_UNREAD = re.compile(r"Received exception when fetching the next record from (\S+-\d+)")


def unreadable(refused: Mapping[Place, str]) -> list[Place]:
    """Those records that were refused as their batch could not be read."""
    return [place for place, why in refused.items() if why == UNREADABLE_BATCH]


def read_around(
    spark: SparkSession,
    read: Callable[[Sequence[Span]], DataFrame],
    spans: Sequence[Span],
    unread: Collection[Place],
) -> DataFrame:
    """Committed records of the spans, as `read` gives those of spans; those that are `unread` are nulls.

    Each topic-partition stands in one span. Invalid if too many batches would have to be gone around.
    """
    parts = [read(piece) for piece in pieces_around(spans, unread)]
    if unread:
        nulls = [(place.topic, place.partition, place.offset, 0, None, None) for place in unread]
        parts.append(spark.createDataFrame(nulls, RECORD_SCHEMA))
    return reduce(DataFrame.unionByName, parts)


def pieces_around(spans: Sequence[Span], unread: Collection[Place]) -> list[list[Span]]:
    """The spans without these offsets, in lists that have each topic-partition once; at least one list."""
    offsets: dict[TopicPartition, list[int]] = defaultdict(list)
    for topic, partition, offset in unread:
        offsets[TopicPartition(topic, partition)].append(offset)
    cut = [[*_without(span, sorted(offsets[span.at]))] for span in spans]
    for span, pieces in zip(spans, cut, strict=True):
        if len(pieces) > MOST_PIECES:
            raise Invalid(
                f"{span}: {len(offsets[span.at])} records, the first at offset {min(offsets[span.at])}, came in record "
                f"batches that cannot be read, and there are more than {MOST_PIECES - 1} of these to be gone around"
            )
    return [[span for span in piece if span is not None] for piece in zip_longest(*cut)] or [[]]


@contextmanager
def telling_of_more() -> Iterator[None]:
    """Invalid, with the topic-partition, where Java's client meets such a batch that nobody has told of."""
    try:
        yield
    except Py4JJavaError as error:
        found = _UNREAD.search(str(error))
        if found is None:
            raise
        raise Invalid(
            f"{found[1]}: Kafka's Java client cannot read a record batch there, and no record in quarantine tells of "
            f"one that workers could not read ({UNREADABLE_BATCH}): its offset is in logs/spark.log"
        ) from error


def _without(span: Span, offsets: Sequence[int]) -> Iterator[Span]:
    start = span.start
    for offset in offsets:
        if offset > start:
            yield replace(span, start=start, end=offset)
        start = offset + 1
    if start < span.end:
        yield replace(span, start=start)

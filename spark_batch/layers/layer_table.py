"""A table that grows by offset ranges of topics, and knows which it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from spark_batch.layers.committed import CommittedTable
from spark_batch.layers.covers import missing, together
from spark_batch.source.kafka_range import RECORDS_PER_TASK
from spark_batch.stored.cut import Span


class LayerTable(CommittedTable):
    """Its commits tell of the ranges."""

    @property
    def covered(self) -> list[Span]:
        """What it holds, as of the last commit."""
        return [Span(**span) for span in self.told or ()]

    def missing(self, spans: Iterable[Span]) -> list[Span]:
        """Of the spans what it does not hold. Invalid where it holds records of another topic of that name."""
        return missing(spans, self.covered)

    def append(self, rows: DataFrame, spans: Sequence[Span]) -> None:
        """Add the rows, which are all records of these spans, none of which it holds.

        Inconclusive if another run has added to it meanwhile; then nothing was added.
        """
        cores, offsets = self._spark.sparkContext.defaultParallelism, sum(span.end - span.start for span in spans)
        few_files = rows.coalesce(max(cores, offsets // RECORDS_PER_TASK))
        self.commit(few_files, [asdict(span) for span in together(self.covered, spans)])


def inside(spans: Iterable[Span], is_of: Callable[[str], Column]) -> Column:
    """Whether a record lies within one of the spans; `is_of`: whether it is of the topic of that name. Delta reads only
    files that may hold some."""
    of_each = (
        is_of(span.topic) & (F.col("partition") == span.partition) & F.col("offset").between(span.start, span.end - 1)
        for span in spans
    )
    return reduce(or_, of_each, F.lit(False))

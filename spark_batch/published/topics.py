"""What views have published: a copy of their topics as they are now, made when the first view needs it."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql import types as T  # noqa: N812 - likewise

from app.base.kafka.clients import java_options
from app.base.names import finals_topic
from app.domain.records import TopicPartition
from app.domain.view import View
from spark_batch.run import Reconciliation
from spark_batch.source.kafka_range import read_spans, told_by
from spark_batch.stored.cut import Span
from spark_batch.stored.row_frames import own_group_columns


class PublishedFinals(NamedTuple):
    """Finals of a view: where each stands (`topic`, `partition`, `offset`, `timestamp_ms`), `window_start_us`, its
    groups, `window_end_us`, `revision`, and all cells as `cells`.

    `is_whole`: whether none of the topics that hold some has let records go.
    """

    finals: DataFrame
    is_whole: bool


class FinalsTopics:
    """All topics of finals that there are: a view that was renamed has some in that of its former name.

    `views`: those whose tasks write now.
    """

    def __init__(self, run: Reconciliation, views: Collection[View]) -> None:
        self._run, self._written = run, {finals_topic(view.name) for view in views if view.window.ends}

    def of(self, view: View) -> PublishedFinals:
        """What can be read as a final of the view's version."""
        text = F.col("value").cast("string")
        likely = self._copied.where(text.contains(view.version))  # of many views few are read as JSON
        told = likely.withColumn("told", F.from_json(text, _schema(view)))
        groups = zip(own_group_columns(view), view.groups, strict=True)
        finals = told.where(F.col("told.version") == view.version).select(
            *(name for name in self._copied.columns if name != "value"),
            *(f"told.{name}" for name in ("window_start_us", "window_end_us", "revision", "cells")),
            *(F.col("told").getField(group.name).alias(name) for name, group in groups),
        )
        held_in = {row["topic"] for row in finals.select("topic").distinct().collect()} | {finals_topic(view.name)}
        return PublishedFinals(finals, not any(span.start for span in self._spans if span.topic in held_in))

    @cached_property
    def _spans(self) -> list[Span]:
        """From where the topics begin now to where they end."""
        cluster = self._run.cluster
        with told_by(cluster):
            topics = cluster.topic_names(finals_topic(""))
            for topic in self._written.intersection(topics):
                self._run.decided_partitions(topic)
            facts = cluster.topics(topics)
            places = [TopicPartition(topic, p) for topic in topics for p in range(facts[topic].partitions)]
            starts, ends = cluster.log_starts(places), cluster.log_ends(places, committed=True)
        return [Span(*place, starts[place], ends[place]) for place in places]

    @cached_property
    def _copied(self) -> DataFrame:
        folder = str(self._run.work / "finals")
        raw = read_spans(self._run.spark, java_options(self._run.settings.kafka), self._spans)
        raw.drop("key").write.parquet(folder)
        return self._run.spark.read.parquet(folder)


def _schema(view: View) -> T.StructType:
    texts = view.texts[len(view.stored_groups) - len(view.groups) :]
    fields = {
        "version": T.StringType(),
        "revision": T.IntegerType(),
        "window_start_us": T.LongType(),
        "window_end_us": T.LongType(),
        "cells": T.ArrayType(T.LongType()),
        **{g.name: T.StringType() if text else T.LongType() for g, text in zip(view.groups, texts, strict=True)},
    }
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])

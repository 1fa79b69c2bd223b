"""Rules that changed while the stream went on, as the exports' markers tell them (rule 13): which skew, which
rules of cleanliness and which grace held for each record, and whether every epoch began where its predecessors had
closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.cleanliness.rule import Refusing
from app.domain.event_time import NO_WATERMARK
from app.domain.records import TopicPartition
from app.domain.rules.epochs import Rules, SkewEpoch
from app.domain.source import Source
from app.domain.view import View
from app.domain.windows.durations import SECOND_US
from spark_batch.stored.ledgers import LedgerEntry, watermarks

ENDLESS = (1 << 63) - 1
_HELD = ("held_topic", "held_partition", "held_from", "held_until")
_HELD_SCHEMA = "held_topic string, held_partition int, held_from long, held_until long"


def with_held(decoded: DataFrame, source: Source, rules: Rules) -> DataFrame:
    """`decoded` (with `topic`, `partition`, `offset`) with `skew_us`, how far each record may be stamped ahead, and
    `refused_by`, the place in `refusals` of the rules that refuse it."""
    declared, known = SkewEpoch.declared(source), refusals(source, rules)
    skew_us = F.lit(declared.skew_seconds * SECOND_US).cast("bigint")
    refused_by = F.lit(known.index(declared.refuses))
    if all(epoch.judges_as(declared) for epochs in rules.skews.values() for epoch in epochs):
        return decoded.withColumns({"skew_us": skew_us, "refused_by": refused_by})
    told = [
        (*place, epoch.skew_seconds * SECOND_US, known.index(epoch.refuses)) for place, epoch in _spans(rules.skews)
    ]
    joined = _joined(decoded, told, "held_skew_us long, held_refused_by int", F.col("topic"))
    held = {"skew_us": F.coalesce("held_skew_us", skew_us), "refused_by": F.coalesce("held_refused_by", refused_by)}
    return joined.withColumns(held).drop("held_skew_us", "held_refused_by")


def refusals(source: Source, rules: Rules) -> list[tuple[Refusing, ...]]:
    """The sets of rules that ever refused records, or do so now, each once."""
    told = (epoch.refuses for epochs in rules.skews.values() for epoch in epochs)
    return list(dict.fromkeys((source.refusing, *told)))


def as_seen(view: View, records: DataFrame, rules: Rules) -> DataFrame:
    """`records` (with `topic_number`) with the `watermark_us` by which the view judges them: with the grace of its
    definition it closes what the record's epoch closes."""
    as_declared = all(
        (e.grace_seconds, e.floor_us) == (view.grace_seconds, NO_WATERMARK) for es in rules.graces.values() for e in es
    )
    if as_declared or not view.window.ends:
        return records
    numbers = {topic.name: topic.number for topic in view.source.topics}
    names = F.create_map(*(F.lit(told) for name, number in numbers.items() for told in (number, name)))
    told = [
        (*place, epoch.grace_seconds * SECOND_US, None if epoch.floor_us == NO_WATERMARK else epoch.floor_us)
        for place, epoch in _spans(rules.graces)
    ]
    joined = _joined(records, told, "held_grace_us long, held_floor_us long", names[F.col("topic_number")])
    grace = F.coalesce("held_grace_us", F.lit(view.grace_us).cast("bigint"))
    closed = F.greatest(F.when(F.col("watermark_us") > NO_WATERMARK, F.col("watermark_us") - grace), "held_floor_us")
    seen = F.coalesce(closed + view.grace_us, F.lit(NO_WATERMARK).cast("bigint"))
    return joined.withColumn("watermark_us", seen).drop("held_grace_us", "held_floor_us")


def floor_entries(
    view: View, rules: Rules, judged: DataFrame, unusable: Column, advances: Sequence[Advance]
) -> Iterator[LedgerEntry]:
    """Where each epoch but the first says that its predecessors had closed to, and where they had.

    `judged`: the view's records (with `topic_number`), `unusable` says of which the watermark takes no notice.
    """
    changes = [(at, *pair) for at, epochs in rules.graces.items() for pair in pairwise(epochs)]
    if not changes:
        return
    places = [(view.source.topic(at.topic).number, at.partition, after.from_offset) for at, _, after in changes]
    bounds = judged.sparkSession.createDataFrame(
        sorted(set(places)), "topic_number int, partition int, change_offset long"
    )
    below = judged.where(~unusable).join(F.broadcast(bounds), ["topic_number", "partition"])
    reached = below.where("offset < change_offset").groupBy("topic_number", "partition", "change_offset")
    rows = reached.agg(F.max(view.source.reported_at).alias("highest_us")).collect()
    highest_us = {(r["topic_number"], r["partition"], r["change_offset"]): int(r["highest_us"]) for r in rows}
    for (at, before, after), place in zip(changes, places, strict=True):
        due = watermarks(highest_us.get(place, NO_WATERMARK), at, after.from_offset, advances)
        closed = {before.closed_to_us(watermark_us) for watermark_us in due}
        told = after.floor_us
        name = f"floor_us of grace {after.grace_seconds} s from {after.from_offset}"
        yield LedgerEntry(at.topic, at.partition, name, told, told if told in closed else max(closed))


def _spans(
    epochs: Mapping[TopicPartition, tuple[Any, ...]],
) -> Iterator[tuple[tuple[str, int, int, int], Any]]:
    """Topic, partition and offsets `[from, until)` of each epoch that holds for any; those below the first are its."""
    for at, of_place in epochs.items():
        untils = [*(epoch.from_offset for epoch in of_place[1:]), ENDLESS]
        for place, (epoch, until) in enumerate(zip(of_place, untils, strict=True)):
            begin = 0 if place == 0 else epoch.from_offset
            if begin < until:
                yield (at.topic, at.partition, begin, until), epoch


def _joined(records: DataFrame, told: Sequence[tuple[Any, ...]], columns: str, topic: Column) -> DataFrame:
    """Each record with what is told for its offset."""
    spans = records.sparkSession.createDataFrame(list(told), f"{_HELD_SCHEMA}, {columns}")
    held = (F.col("held_topic") == topic) & (F.col("held_partition") == F.col("partition"))
    inside = (F.col("offset") >= F.col("held_from")) & (F.col("offset") < F.col("held_until"))
    return records.join(F.broadcast(spans), held & inside, "left").drop(*_HELD)

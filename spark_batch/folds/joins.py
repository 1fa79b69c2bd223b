"""Joins and alerts in Spark, beside `app.domain.oracle.join_fold`, `alert_fold` and the worker's (rules 18 and 20).

Everything is worked out as sets: which halves count, then which of them meet. Records are frames as `read_source` and
`with_watermark` give them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.difference import Fate
from app.domain.pairs.alert import END, START, Alert
from app.domain.pairs.half import Half
from app.domain.pairs.join import Join, Side
from app.domain.pairs.pairing import Pairing
from spark_batch.folds.mix import packed_origin

DUPLICATE = "duplicate"
"""Beside the fates that views know as well."""
_HELD = "array<struct<offset:bigint,at_us:bigint,watermark_us:bigint,origin:bigint,counts:boolean>>"


@dataclass(frozen=True)
class Recomputed:
    """`fates`: task, side, origin and fate of every usable record (side null where out of scope).

    Of a join `results` are left_origin and right_origin of what met, and of what left unmatched with the other null.
    Of an alert they are start_origin, end_origin, at_offset and told_at_us.
    """

    fates: DataFrame
    results: DataFrame


def recompute_join(
    join: Join, records: Mapping[str, DataFrame], watermarks_us: Mapping[tuple[str, int], int]
) -> Recomputed:
    """The join over records by topic; `watermarks_us` are those of the cut, by topic and partition."""
    counts, fates = _halves(join, records, join.grace_us, join.remembered_us)
    left, right = (_of_side(counts, side) for side in Side)
    near = F.abs(F.col("left_at_us") - F.col("right_at_us")) <= join.bound_us
    pairs = left.join(right, ["task", "id"]).where(near).select("task", "left_origin", "right_origin")
    lower = _lower_watermarks(join, watermarks_us)
    results = pairs
    for side in Side:
        over = F.col(f"{side}_at_us") + join.unmatched_after_us <= F.col("lower_us")
        alone = _of_side(counts, side).join(F.broadcast(_frame_of(counts, lower)), "task").where(over)
        alone = alone.join(pairs.select("task", f"{side}_origin"), ["task", f"{side}_origin"], "left_anti")
        none = F.lit(None).cast("bigint").alias(f"{side.other}_origin")
        results = results.unionByName(alone.select("task", f"{side}_origin", none))
    return Recomputed(fates, results)


def recompute_alert(alert: Alert, records: DataFrame, advances: Sequence[Advance]) -> Recomputed:
    """The alert over the records of its topic, up to the cut; `advances` are those below it or at it."""
    counts, fates = _halves(alert, {alert.topic: records}, alert.held_us, alert.held_us)
    starts, ends = _of_side(counts, START), _of_side(counts, END)
    s, e = f"{START}_", f"{END}_"
    start_first = F.col(f"{s}offset") < F.col(f"{e}offset")
    earlier_us = F.when(start_first, F.col(f"{s}at_us")).otherwise(F.col(f"{e}at_us"))
    # who comes second finds the first held: its time has not been over at that watermark
    second = F.greatest(F.struct(*_at(s)), F.struct(*_at(e)))
    met = starts.join(ends, ["task", "id"]).withColumn("second", second)
    met = met.where(earlier_us + alert.held_us > F.col("second.watermark_us"))
    first = Window.partitionBy("task", f"{s}origin").orderBy("second.offset")
    ended = met.withColumn("place", F.row_number().over(first)).where("place = 1")
    long = F.col(f"{e}at_us") - F.col(f"{s}at_us") > alert.longer_than_us
    by_end = ended.where(long).select(
        "task",
        F.col(f"{s}origin").alias("start_origin"),
        F.col(f"{e}origin").alias("end_origin"),
        F.col("second.offset").alias("at_offset"),
        F.col("second.watermark_us").alias("told_at_us"),
    )
    waiting = starts.join(ended.select("task", f"{s}origin"), ["task", f"{s}origin"], "left_anti")
    return Recomputed(fates, by_end.unionByName(_timed_out(alert, waiting, records, advances)))


def _timed_out(alert: Alert, waiting: DataFrame, records: DataFrame, advances: Sequence[Advance]) -> DataFrame:
    """Beginnings whose bound the watermark has reached, at the first offset that did."""
    reached = records.where("reason is null").select(
        F.col("partition").alias("task"), F.col("watermark_us").alias("us"), F.col("offset").alias("reached_at")
    )
    raised = [(a.partition, a.watermark_us, a.at_offset) for a in advances if a.topic == alert.topic]
    by_hand = records.sparkSession.createDataFrame(raised, "task int, us long, reached_at long")
    none = F.lit(None).cast("bigint")
    bounds = waiting.select(
        "task", (F.col(f"{START}_at_us") + alert.held_us).alias("us"), F.col(f"{START}_origin").alias("start_origin")
    )
    steps = reached.unionByName(by_hand).withColumn("start_origin", none)
    everything = steps.unionByName(bounds.withColumn("reached_at", none))
    from_it_on = Window.partitionBy("task").orderBy(F.col("us").desc()).rangeBetween(Window.unboundedPreceding, 0)
    fired = everything.withColumn("at_offset", F.min("reached_at").over(from_it_on))
    fired = fired.where("start_origin is not null and at_offset is not null")
    return fired.select("task", "start_origin", none.alias("end_origin"), "at_offset", F.col("us").alias("told_at_us"))


def _halves(
    of: Pairing, records: Mapping[str, DataFrame], late_us: int, remembered_us: int
) -> tuple[DataFrame, DataFrame]:
    """The halves that count, and the fate of every usable record."""
    parts = [_as_halves(of, topic, frame) for topic, frame in records.items()]
    halves = parts[0]
    for part in parts[1:]:
        halves = halves.unionByName(part)
    out = F.when(F.col("side").isNull(), Fate.OUT_OF_SCOPE.value)
    judged = halves.withColumn(
        "fate", out.when(F.col("at_us") + late_us <= F.col("watermark_us"), Fate.LATE.value)
    ).cache()
    told = _first_of_each(judged.where("fate is null"), remembered_us)
    counts = told.where("counts").drop("counts")
    fate = F.when(F.col("counts"), Fate.APPLIED.value).otherwise(DUPLICATE).alias("fate")
    fates = judged.where("fate is not null").select("task", "side", "origin", "fate")
    return counts, fates.unionByName(told.select("task", "side", "origin", fate))


def _as_halves(of: Pairing, topic: str, records: DataFrame) -> DataFrame:
    usable = records.where("reason is null").withColumn("origin", packed_origin())
    sides = [side for side in Side if of.half(side).topic == topic]
    side, named, at_us = F.lit(None).cast("string"), F.lit(None).cast("string"), F.lit(None).cast("bigint")
    for one in sides:
        half = of.half(one)
        taken = _taken(half)
        side = F.when(taken, one.value).otherwise(side)
        named = F.when(taken, F.col(half.id).cast("string")).otherwise(named)
        at_us = F.when(taken, F.col(half.at)).otherwise(at_us)
    task = F.col("partition").alias("task")
    told = (side.alias("side"), named.alias("id"), at_us.alias("at_us"))
    return usable.select(task, "offset", "origin", "watermark_us", *told)


def _taken(half: Half) -> Column:
    """Whether a record is meant, as `Half.takes`."""
    known = F.col(half.id).isNotNull() & F.col(half.at).isNotNull()
    if half.only is None:
        return known
    return known & F.coalesce(F.col(half.only.column).isin(list(half.only.values)), F.lit(False))


def _first_of_each(in_time: DataFrame, remembered_us: int) -> DataFrame:
    """With `counts`: false where one of the same id and side that counted was still remembered."""
    told = F.struct("offset", "at_us", "watermark_us", "origin")
    grouped = in_time.groupBy("task", "side", "id").agg(F.array_sort(F.collect_list(told)).alias("each"))

    def with_next(held: Column, now: Column) -> Column:
        taken = F.exists(held, lambda h: h["counts"] & (h["at_us"] + remembered_us > now["watermark_us"]))
        names = ("offset", "at_us", "watermark_us", "origin")
        return F.array_append(held, F.struct(*(now[name].alias(name) for name in names), (~taken).alias("counts")))

    folded = grouped.withColumn("one", F.explode(F.aggregate("each", F.array().cast(_HELD), with_next)))
    return folded.select("task", "side", "id", "one.*")


def _of_side(counts: DataFrame, side: Side) -> DataFrame:
    names = ("origin", "offset", "at_us", "watermark_us")
    of_side = counts.where(F.col("side") == side.value)
    return of_side.select("task", "id", *(F.col(name).alias(f"{side}_{name}") for name in names))


def _at(prefix: str) -> tuple[Column, Column]:
    return F.col(f"{prefix}offset").alias("offset"), F.col(f"{prefix}watermark_us").alias("watermark_us")


def _lower_watermarks(join: Join, watermarks_us: Mapping[tuple[str, int], int]) -> list[tuple[int, int]]:
    """Of each task, the watermark that all topics of the join have reached; tasks without one are left out."""
    tasks = {partition for _, partition in watermarks_us}
    whole = [p for p in tasks if all((topic, p) in watermarks_us for topic in join.topics)]
    return [(p, min(watermarks_us[topic, p] for topic in join.topics)) for p in whole]


def _frame_of(like: DataFrame, lower: Sequence[tuple[int, int]]) -> DataFrame:
    return like.sparkSession.createDataFrame(lower, "task int, lower_us long")

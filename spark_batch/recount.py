"""One view at its cut: which records it covers, what became of them, and the rows they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.difference import Fate
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Fates
from app.domain.records import TopicPartition
from app.domain.view import View
from spark_batch.cut import TaskCut
from spark_batch.ledgers import Counted
from spark_batch.recompute import judged, rows

_AT = ("topic_number", "partition")


@dataclass(frozen=True)
class Recount:
    """`covered`: the view's records below its cut, judged. `refused`: unusable ones of the tasks below the cut."""

    view: View
    cuts: Sequence[TaskCut]
    covered: DataFrame
    usable: DataFrame
    refused: DataFrame

    @property
    def rows(self) -> DataFrame:
        """The view's rows, less those whose windows have been expired."""
        made = rows(self.view, self.applied)
        bounds = {cut.partition: cut.marker.views[self.view.name].expired_below_us for cut in self.cuts}
        for partition, below_us in bounds.items():
            if below_us is not None:
                made = made.where(~((F.col("task") == partition) & (F.col("window_start_us") < below_us)))
        return made

    @property
    def applied(self) -> DataFrame:
        return self.covered.where(F.col("fate") == Fate.APPLIED.value)


def recount(view: View, cuts: Sequence[TaskCut], usable: DataFrame, refused: DataFrame) -> Recount:
    """`usable`: the source's usable records with watermarks; `refused`: the others. Both may reach beyond the cut."""
    bounds = F.broadcast(_bounds(view, cuts, usable))
    below = F.col("offset") < F.col("next_offset")
    inside = usable.join(bounds, [*_AT]).where(below)
    covered = judged(view, inside.where(F.col("offset") >= F.col("view_start")))
    return Recount(view, cuts, covered, inside, refused.join(bounds, [*_AT]).where(below))


def counted(recount: Recount) -> dict[TopicPartition, Counted]:
    """Both ledgers, counted anew."""
    source = recount.view.source
    names = {topic.number: topic.name for topic in source.topics}
    read = recount.usable.groupBy(*_AT).agg(
        F.count(F.lit(1)).alias("decoded"), F.max(source.reported_at).alias("highest_us")
    )
    bad = recount.refused.groupBy(*_AT).agg(F.count(F.lit(1)).alias("quarantined"))
    fates = recount.covered.groupBy(*_AT).agg(*(_count_of(fate) for fate in Fate))
    together = (
        read.join(bad, [*_AT], "full")
        .join(fates, [*_AT], "full")
        .na.fill(0, ["decoded", "quarantined", *Fate])
    )
    return {
        TopicPartition(names[row["topic_number"]], row["partition"]): Counted(
            row["decoded"],
            row["quarantined"],
            NO_WATERMARK if row["highest_us"] is None else row["highest_us"],
            Fates(*(row[fate.value] for fate in Fate)),
        )
        for row in together.collect()
    }


def _count_of(fate: Fate) -> Column:
    return F.count_if(F.col("fate") == fate.value).alias(fate.value)


def _bounds(view: View, cuts: Sequence[TaskCut], like: DataFrame) -> DataFrame:
    told = [
        (view.source.topic(topic).number, cut.partition, cut.view_start(topic), position.next_offset)
        for cut in cuts
        for topic, position in cut.source_inputs.items()
    ]
    return like.sparkSession.createDataFrame(
        told, "topic_number int, partition int, view_start long, next_offset long"
    )

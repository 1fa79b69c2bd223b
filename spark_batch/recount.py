"""One view at its cut: which records it covers, what became of them, and the rows they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
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


QUARANTINED, BELOW_START = "quarantined", "below_start"
"""Fates beside those of the domain: unusable, and read by the task before the view was added to it."""


@dataclass(frozen=True)
class Recount:
    """`judged`: every record of the view's tasks below its cut, with the row it belongs to and its fate."""

    view: View
    cuts: Sequence[TaskCut]
    judged: DataFrame

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
    def covered(self) -> DataFrame:
        """Usable records that the view covers."""
        return self.judged.where(F.col("fate").isin([fate.value for fate in Fate]))

    @property
    def applied(self) -> DataFrame:
        return self.judged.where(F.col("fate") == Fate.APPLIED.value)


def recount(view: View, cuts: Sequence[TaskCut], records: DataFrame) -> Recount:
    """`records`: all of the source's, with `reason` and `watermark_us`; they may reach beyond the view's cut."""
    inside = records.join(F.broadcast(_bounds(view, cuts, records)), [*_AT]).where("offset < next_offset")
    fate = F.when(F.col("reason").isNotNull(), QUARANTINED).when(F.col("offset") < F.col("view_start"), BELOW_START)
    return Recount(view, cuts, judged(view, inside).withColumn("fate", fate.otherwise(F.col("fate"))))


def counted(recount: Recount) -> dict[TopicPartition, Counted]:
    """Both ledgers, counted anew, in one pass."""
    source = recount.view.source
    names = {topic.number: topic.name for topic in source.topics}
    usable = F.col("fate") != QUARANTINED
    figures = recount.judged.groupBy(*_AT).agg(
        F.count_if(usable).alias("decoded"),
        F.count_if(~usable).alias(QUARANTINED),
        F.max(F.when(usable, F.col(source.reported_at))).alias("highest_us"),
        *(F.count_if(F.col("fate") == fate.value).alias(fate.value) for fate in Fate),
    )
    return {
        TopicPartition(names[row["topic_number"]], row["partition"]): Counted(
            row["decoded"],
            row[QUARANTINED],
            NO_WATERMARK if row["highest_us"] is None else row["highest_us"],
            Fates(*(row[fate.value] for fate in Fate)),
        )
        for row in figures.collect()
    }


def _bounds(view: View, cuts: Sequence[TaskCut], like: DataFrame) -> DataFrame:
    told = [
        (view.source.topic(topic).number, cut.partition, cut.view_start(topic), position.next_offset)
        for cut in cuts
        for topic, position in cut.source_inputs.items()
    ]
    return like.sparkSession.createDataFrame(told, "topic_number int, partition int, view_start long, next_offset long")

"""One view at its cut: which records it covers, what became of them, and the rows they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.difference import Fate
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import BLOCK_SIZE
from app.domain.marker import Fates
from app.domain.naming.blocks import BlockPlace, BlockTotals
from app.domain.obeyed import rules_of
from app.domain.records import TopicPartition
from app.domain.view import View
from app.domain.windows.scope import Scope
from spark_batch.folds.corrections import Corrections, FoldedCorrections, ToldCorrections
from spark_batch.folds.mix import fingerprint, mixed_halves, packed_origin
from spark_batch.folds.recompute import judged, rows
from spark_batch.folds.scoped import in_scope
from spark_batch.folds.windows import columns_of_window
from spark_batch.source.epochs import as_seen, floor_entries
from spark_batch.source.places import ORIGIN, TOPIC_PARTITION
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import Counted, LedgerEntry

QUARANTINED, BELOW_START = "quarantined", "below_start"
"""Fates beside those of the domain: unusable, and read by the task before the view was added to it."""


@dataclass(frozen=True)
class Recount:
    """`judged`: every record of the view's tasks below its cut, with the row it belongs to and its fate."""

    view: View
    cuts: Sequence[TaskCut]
    judged: DataFrame
    corrections: Corrections
    scope: Scope | None = None

    @cached_property
    def corrected(self) -> FoldedCorrections:
        """All rows, with corrections folded in."""
        return self.corrections.folded(rows(self.view, self.applied))

    @property
    def rows(self) -> DataFrame:
        """The view's rows in the run's scope, less those whose windows have been expired."""
        return self.kept(self.corrected.rows)

    def kept(self, made: DataFrame) -> DataFrame:
        """Rows in the scope, without those whose windows have been expired."""
        bounds = {cut.partition: cut.marker.views[self.view.name].expired_to_us for cut in self.cuts}
        for partition, to_us in bounds.items():
            if to_us is not None and self.view.window.ends:
                ended = columns_of_window(self.view).has_ended(to_us)
                made = made.where(~((F.col("task") == partition) & ended))
        return in_scope(self.view, made, self.scope)

    @property
    def covered(self) -> DataFrame:
        """Usable records that the view covers."""
        return self.judged.where(F.col("fate").isin([fate.value for fate in Fate]))

    @property
    def accusable(self) -> DataFrame:
        """Records that a row may be off by: the usable ones, and those that corrections added, as if applied."""
        if not self.corrections.adds:
            return self.covered
        added = self.corrections.added_of(self.judged).withColumn("fate", F.lit(Fate.APPLIED.value))
        rest = self.covered.join(added.select(*ORIGIN), [*ORIGIN], "leftanti")
        return rest.unionByName(added)

    @property
    def applied(self) -> DataFrame:
        return self.judged.where(F.col("fate") == Fate.APPLIED.value)


def recount(
    view: View, cuts: Sequence[TaskCut], records: DataFrame, told: ToldCorrections, scope: Scope | None = None
) -> Recount:
    """`records`: all of the source's, with `reason` and `watermark_us`; they and `told`, what became of corrections,
    may reach beyond the view's cut."""
    inside = records.join(F.broadcast(_bounds(view, cuts, records)), [*TOPIC_PARTITION]).where("offset < next_offset")
    fate = F.when(F.col("reason").isNotNull(), QUARANTINED).when(F.col("offset") < F.col("view_start"), BELOW_START)
    seen = as_seen(view, inside, rules_of(view, [cut.marker for cut in cuts]))
    with_fates = judged(view, seen).withColumn("fate", fate.otherwise(F.col("fate")))
    return Recount(view, cuts, with_fates, Corrections(view, cuts, told), scope)


def counted(recount: Recount) -> dict[TopicPartition, Counted]:
    """Both ledgers, counted anew, in one pass."""
    source = recount.view.source
    names = {topic.number: topic.name for topic in source.topics}
    usable = F.col("fate") != QUARANTINED
    figures = recount.judged.groupBy(*TOPIC_PARTITION).agg(
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


def applied_blocks(recount: Recount) -> BlockTotals:
    """Count and fingerprint of what each block should have given to the view."""
    upper, lower = mixed_halves(packed_origin())
    mixed = recount.applied.withColumns({"upper": upper, "lower": lower, "block": F.expr(f"offset div {BLOCK_SIZE}")})
    totals = (F.count(F.lit(1)).alias("count"), fingerprint(F.col("upper"), F.col("lower")).alias("mixes"))
    found = mixed.groupBy(*TOPIC_PARTITION, "block").agg(*totals).collect()
    return {
        BlockPlace(row["topic_number"], row["partition"], row["block"]): (row["count"], row["mixes"]) for row in found
    }


def epoch_floors(recount: Recount, advances: Sequence[Advance]) -> list[LedgerEntry]:
    """What the view's epochs say of windows closed before them, against what was closed."""
    rules = rules_of(recount.view, [cut.marker for cut in recount.cuts])
    return [*floor_entries(recount.view, rules, recount.judged, F.col("fate") == QUARANTINED, advances)]


def _bounds(view: View, cuts: Sequence[TaskCut], like: DataFrame) -> DataFrame:
    told = [
        (view.source.topic(topic).number, cut.partition, cut.view_start(topic), position.next_offset)
        for cut in cuts
        for topic, position in cut.source_inputs.items()
    ]
    return like.sparkSession.createDataFrame(told, "topic_number int, partition int, view_start long, next_offset long")

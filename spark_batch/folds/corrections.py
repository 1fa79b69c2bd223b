"""Corrections as an input of the recomputation: state = fold(source records, corrections) (rule 23).

What the tasks say they applied is taken from their outcomes; that each fits the recomputed row, and adds no record
that the row holds already, is counted here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.base import names
from app.base.kafka.committed import committed
from app.codecs.stored.corrections import CorrectionOutcome, read_outcome
from app.domain.catalogue import TaskGroup
from app.domain.corrections.corrected import Applied, fold_corrections
from app.domain.corrections.correction import adds_up, fits
from app.domain.difference import Fate, RowPlace
from app.domain.rows import Cells
from app.domain.view import View
from spark_batch.source.places import ORIGIN
from spark_batch.stored.cut import TaskCut
from spark_batch.stored.ledgers import LedgerEntry
from spark_batch.stored.row_frames import cells_of, key_columns, key_of, row_schema, same_key

_ORIGIN_SCHEMA = "topic_number int, partition int, offset long"


class FoldedCorrections(NamedTuple):
    """All rows of a view, with corrections folded in: those of them in `touched` were changed by any.

    `unfitting`: those corrections that expected another row.
    """

    rows: DataFrame
    unfitting: list[Applied]
    touched: Mapping[RowPlace, Cells]


class ToldCorrections(NamedTuple):
    """A corrections topic, and what tasks told of each record in it."""

    topic: str
    outcomes: Sequence[CorrectionOutcome]


def read_told(
    client: Mapping[str, Any], application: str, group: TaskGroup, cuts: Sequence[TaskCut]
) -> ToldCorrections:
    """The outcomes of all tasks that have judged a correction; `client`: librdkafka's options."""
    topic = names.corrections_topic(application, group.name)
    judged = sorted({cut.partition for cut in cuts if topic in cut.marker.inputs and _judged(cut, topic)})
    told_in = names.corrected_topic(application)
    messages = (message for partition in judged for message in committed(client, told_in, partition))
    outcomes = filter(None, (read_outcome(message.value()) for message in messages))
    return ToldCorrections(topic, [outcome for outcome in outcomes if outcome.topic == topic])


@dataclass(frozen=True)
class Corrections:
    """Those of one view at its cuts."""

    view: View
    cuts: Sequence[TaskCut]
    told: ToldCorrections

    @cached_property
    def applied(self) -> list[Applied]:
        """What the tasks say they applied, below the view's cuts, and not to rows that it had before it began anew."""
        ends = {cut.partition: _next_offset(cut, self.told.topic) for cut in self.cuts}
        positions = {cut.partition: cut.marker.views[self.view.name] for cut in self.cuts}
        starts = {partition: position.corrected_from for partition, position in positions.items()}
        return [
            Applied(one.partition, one.offset, one.correction)
            for one in self.told.outcomes
            if one.why is None
            and starts.get(one.partition, 0) <= one.offset < ends.get(one.partition, 0)
            and _is_of(self.view, one)
        ]

    @cached_property
    def adds(self) -> Counter[tuple[int, int, int]]:
        """Origins of the records that they add, and how often."""
        numbers = {topic.name: topic.number for topic in self.view.source.topics}
        return Counter((numbers[p.topic], p.partition, p.offset) for a in self.applied for p in a.correction.adds)

    def added_of(self, records: DataFrame) -> DataFrame:
        """Of records those that one adds, whatever their fate."""
        origins = F.broadcast(records.sparkSession.createDataFrame(list(self.adds), _ORIGIN_SCHEMA))
        return records.join(origins, [*ORIGIN], "leftsemi")

    def empty_rows(self, spark: SparkSession) -> DataFrame:
        """A row without records for each that one was applied to."""
        keys = sorted({(one.partition, one.correction.key) for one in self.applied}, key=repr)
        rows = [(task, key.window_start_us, *key.group, *self.view.neutral) for task, key in keys]
        return spark.createDataFrame(rows, row_schema(self.view))

    def folded(self, made: DataFrame) -> FoldedCorrections:
        """`made`: rows made of source records."""
        if not self.applied:
            return FoldedCorrections(made, [], {})
        keys = F.broadcast(self.empty_rows(made.sparkSession).select(*key_columns(self.view)))
        found = made.join(keys, same_key(self.view, made, keys), "leftsemi").collect()
        held: dict[RowPlace, Cells] = {(row["task"], key_of(self.view, row)): cells_of(self.view, row) for row in found}
        unfitting = fold_corrections(self.view, held, self.applied)
        corrected = [(task, key.window_start_us, *key.group, *cells) for (task, key), cells in held.items()]
        rest = made.join(keys, same_key(self.view, made, keys), "leftanti")
        rows = rest.unionByName(made.sparkSession.createDataFrame(corrected, row_schema(self.view)))
        return FoldedCorrections(rows, unfitting, held)

    def entries(self, judged: DataFrame, unfitting: Sequence[Applied]) -> list[LedgerEntry]:
        """Whether every correction read was told of, those applied fit, and none added what the row held already."""
        doubled = self._doubled(judged)
        found = []
        for cut in self.cuts:
            if self.told.topic not in cut.marker.inputs:
                continue
            position = cut.marker.inputs[self.told.topic]
            told = [o for o in self.told.outcomes if o.partition == cut.partition and o.offset < position.next_offset]
            applied = sum(one.partition == cut.partition for one in self.applied)
            fitting = applied - sum(one.partition == cut.partition for one in unfitting)
            figures = (
                ("corrections_judged", position.decoded, len(told)),
                ("corrections_applied", applied, fitting),
                ("added_twice", 0, doubled[cut.partition]),
            )
            found += [LedgerEntry(self.told.topic, cut.partition, name, marker, own) for name, marker, own in figures]
        return found

    def _doubled(self, judged: DataFrame) -> Counter[int]:
        """By task, records that were added twice, or added to a row that the stream had put them into."""
        again = Counter({origin: times - 1 for origin, times in self.adds.items() if times > 1})
        doubled = Counter(partition for _, partition, _ in again.elements())
        if self.adds:
            in_rows = self.added_of(judged.where(F.col("fate") == Fate.APPLIED.value))
            doubled.update(row["partition"] for row in in_rows.select("partition").collect())
        return doubled


def _is_of(view: View, told: CorrectionOutcome) -> bool:
    """Whether the view's task can have applied it: anyone may write to where it is told."""
    correction = told.correction
    is_meant = correction.version == view.version
    return is_meant and fits(view, correction) and adds_up(view, correction, told.partition)


def _judged(cut: TaskCut, topic: str) -> bool:
    position = cut.marker.inputs[topic]
    return position.next_offset > position.start_offset


def _next_offset(cut: TaskCut, topic: str) -> int:
    position = cut.marker.inputs.get(topic)
    return 0 if position is None else position.next_offset

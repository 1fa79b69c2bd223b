"""What is done for each kind of pairing, joins and alerts: the contract, and which kind has which."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.marker import AlertPosition, JoinPosition, Marker
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Join
from app.domain.pairs.pairing import Pairing
from spark_batch.folds.given import alert_records, joined_records
from spark_batch.folds.joins import Recomputed, recompute_alert, recompute_join
from spark_batch.folds.mix import fingerprint, mixed_halves

PairingKind = TypeVar("PairingKind", bound=Pairing)
Figures = Mapping[str, int]
"""What a marker counts of results, by name."""
Markers = Mapping[int, Marker]
"""Those of a cut, by task."""
RecordsByTopic = Mapping[str, DataFrame]
"""RecordsByTopic below the cut by topic, as `with_watermark` gives them."""


class PairingKernel(ABC, Generic[PairingKind]):
    """`leaves`: the figure that grows when the watermark has passed, perhaps a while after an advance."""

    leaves: str

    def __init__(self, pairing: PairingKind) -> None:
        self.pairing = pairing

    @abstractmethod
    def recomputed(self, records: RecordsByTopic, markers: Markers, advances: Sequence[Advance]) -> Recomputed:
        """Fates and results; `advances`: those that the tasks have taken."""

    @abstractmethod
    def due(self, results: DataFrame, records: RecordsByTopic) -> DataFrame:
        """`task` and the columns of the pairing's source: what must stand in its topic."""

    @abstractmethod
    def position(self, marker: Marker) -> JoinPosition | AlertPosition:
        """The marker's."""

    @abstractmethod
    def told(self, marker: Marker) -> Figures:
        """As the marker has them."""

    @abstractmethod
    def counted(self, results: DataFrame, due: DataFrame) -> Mapping[int, Figures]:
        """As they are of results, by task."""


class JoinKernel(PairingKernel[Join]):
    leaves = "unmatched"

    def recomputed(self, records: RecordsByTopic, markers: Markers, advances: Sequence[Advance]) -> Recomputed:
        reached = {(t, task): m.position_in(t).watermark_us for task, m in markers.items() for t in self.pairing.topics}
        return recompute_join(self.pairing, records, reached)

    def due(self, results: DataFrame, records: RecordsByTopic) -> DataFrame:
        return joined_records(self.pairing, results, records)

    def position(self, marker: Marker) -> JoinPosition:
        return marker.joins[self.pairing.name]

    def told(self, marker: Marker) -> Figures:
        at = self.position(marker)
        return {"joined": at.joined, "unmatched": at.unmatched, "count": at.count, "fingerprint": at.fingerprint}

    def counted(self, results: DataFrame, due: DataFrame) -> Mapping[int, Figures]:
        alone = F.col(LEFT_ORIGIN).isNull() | F.col(RIGHT_ORIGIN).isNull()
        met = results.groupBy("task").agg(F.count_if(~alone).alias("joined"), F.count_if(alone).alias("unmatched"))
        halves = due.select("task", F.explode(F.array(LEFT_ORIGIN, RIGHT_ORIGIN)).alias("origin"))
        upper, lower = mixed_halves(F.col("origin"))
        mixed = halves.where("origin is not null").select("task", upper.alias("upper"), lower.alias("lower"))
        proof = (F.count(F.lit(1)).alias("count"), fingerprint(F.col("upper"), F.col("lower")).alias("fingerprint"))
        return _by_task(met.join(mixed.groupBy("task").agg(*proof), "task", "left"))


class AlertKernel(PairingKernel[Alert]):
    leaves = "told"

    def recomputed(self, records: RecordsByTopic, markers: Markers, advances: Sequence[Advance]) -> Recomputed:
        return recompute_alert(self.pairing, records[self.pairing.topic], advances)

    def due(self, results: DataFrame, records: RecordsByTopic) -> DataFrame:
        return alert_records(self.pairing, results, records)

    def position(self, marker: Marker) -> AlertPosition:
        return marker.alerts[self.pairing.name]

    def told(self, marker: Marker) -> Figures:
        return {"told": self.position(marker).told}

    def counted(self, results: DataFrame, due: DataFrame) -> Mapping[int, Figures]:
        return _by_task(results.groupBy("task").agg(F.count(F.lit(1)).alias("told")))


KERNELS: Mapping[type[Pairing], type[PairingKernel[Any]]] = {Join: JoinKernel, Alert: AlertKernel}


def kernel_of(pairing: Pairing) -> PairingKernel[Any]:
    """What Spark does for it."""
    return KERNELS[type(pairing)](pairing)


def taken(advances: Sequence[Advance], markers: Markers) -> list[Advance]:
    """Advances that the tasks have taken. Of one at the very offset of the cut the watermark tells."""
    return [one for one in advances if one.partition in markers and _has_taken(markers[one.partition], one)]


def _has_taken(marker: Marker, one: Advance) -> bool:
    at = marker.inputs.get(one.topic)
    if at is None or one.at_offset > at.next_offset:
        return False
    return one.at_offset < at.next_offset or one.watermark_us <= at.watermark_us


def _by_task(rows: DataFrame) -> Mapping[int, Figures]:
    """Without those that are null."""
    found = (row.asDict() for row in rows.collect())
    return {row.pop("task"): {name: n for name, n in row.items() if n is not None} for row in found}

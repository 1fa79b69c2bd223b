"""Joins and alerts of a task group, against the records that they read and against what they wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.marker import Marker
from app.domain.pairs.join import Side
from app.domain.pairs.pairing import Pairing
from spark_batch.errors import Inconclusive, other_release
from spark_batch.findings.results import PairingReport
from spark_batch.pairs.compared import TaskBounds, compare_results
from spark_batch.pairs.kinds import Markers, PairingKernel, RecordsByTopic, kernel_of, taken
from spark_batch.pairs.ledger import figures_of, ledger_of
from spark_batch.pairs.sent import copy_sent
from spark_batch.run import Reconciliation
from spark_batch.stored.cut import SourceCut
from spark_batch.stored.ledgers import LedgerEntry


class JudgedSource(NamedTuple):
    """A source's records as they are judged, with `watermark_us`, and the advances that count for them. Both may reach
    beyond the cut."""

    records: DataFrame
    advances: Sequence[Advance]


class Rematched(NamedTuple):
    """`due`: what must stand in the topic of results, as `task` and the columns of the pairing's source. `began`: by
    task the first offsets that count, of the topics of both sides."""

    due: DataFrame
    ledger: list[LedgerEntry]
    began: Mapping[int, tuple[int, int]]


def check_pairing(
    run: Reconciliation, pairing: Pairing, cuts: Sequence[SourceCut], read: Mapping[int, JudgedSource]
) -> PairingReport:
    """One join or alert; `read`: its sources by number."""
    with run.step("pairs", f"{pairing.name}: matching records anew"):
        own = rematched(pairing, cuts, read)
    with run.step("results", f"{pairing.name}: comparing every result with {pairing.output.name}"):
        sent = copy_sent(run, pairing)
        bounds = {task: TaskBounds(*began, sent.starts[task]) for task, began in own.began.items()}
        compared = compare_results(pairing, own.due, sent.records, bounds)
        own.due.unpersist()
    return PairingReport(pairing, cuts, compared, own.ledger)


def rematched(pairing: Pairing, cuts: Sequence[SourceCut], read: Mapping[int, JudgedSource]) -> Rematched:
    """The join or alert recomputed at the cut, and what it counts beside the markers' figures."""
    kernel, markers = kernel_of(pairing), {cut.partition: cut.marker for cut in cuts}
    _require_held(pairing, markers)
    advances = taken([one for source in read.values() for one in source.advances], markers)
    records = _below(pairing, cuts, read)
    covered = {topic: _covered(kernel, cuts, topic, frame) for topic, frame in records.items()}
    own = kernel.recomputed(covered, markers, advances)
    results = own.results.cache()
    due = kernel.due(results, covered).cache()
    ledger = [*ledger_of(kernel, cuts, records, own.fates, advances)]
    ledger += figures_of(kernel, cuts, kernel.counted(results, due))
    _require_settled(kernel, cuts, ledger, advances)
    first, second = (pairing.half(side).topic for side in Side)
    began = {task: (_began(kernel, at, first), _began(kernel, at, second)) for task, at in markers.items()}
    return Rematched(due, ledger, began)


def _require_held(pairing: Pairing, markers: Markers) -> None:
    for partition, marker in markers.items():
        position = (marker.joins | marker.alerts).get(pairing.name)
        if position is None or position.version != pairing.version:
            known = None if position is None else position.version
            raise other_release(partition, pairing.name, pairing.version, known)


def _below(pairing: Pairing, cuts: Sequence[SourceCut], read: Mapping[int, JudgedSource]) -> RecordsByTopic:
    """The records below the cut by topic."""
    records = {}
    for topic in pairing.topics:
        source = pairing.source_of(topic)
        of_topic = read[source.number].records.where(F.col("topic_number") == source.topic(topic).number)
        ends = {cut.partition: cut.marker.position_in(topic).next_offset for cut in cuts}
        records[topic] = _bounded(of_topic, ends).where("offset < bound").drop("bound")
    return records


def _covered(kernel: PairingKernel[Any], cuts: Sequence[SourceCut], topic: str, records: DataFrame) -> DataFrame:
    """Those that the join or alert has seen: of one that was added later not what had been read by then."""
    begun = {cut.partition: _began(kernel, cut.marker, topic) for cut in cuts}
    return _bounded(records, begun).where("offset >= bound").drop("bound")


def _began(kernel: PairingKernel[Any], marker: Marker, topic: str) -> int:
    return max(kernel.position(marker).start.get(topic, 0), marker.position_in(topic).start_offset)


def _bounded(records: DataFrame, offsets: Mapping[int, int]) -> DataFrame:
    told = records.sparkSession.createDataFrame(sorted(offsets.items()), "partition int, bound long")
    return records.join(F.broadcast(told), "partition")


def _require_settled(
    kernel: PairingKernel[Any],
    cuts: Sequence[SourceCut],
    ledger: Sequence[LedgerEntry],
    advances: Sequence[Advance],
) -> None:
    """Inconclusive where an advance was the last thing that a task took, and more has left by it than was told.

    Behind an advance what leaves is told some thousands at a time, and with the next record all of it.
    """
    pairing = kernel.pairing
    ends = {
        (topic, cut.partition, cut.marker.position_in(topic).next_offset) for cut in cuts for topic in pairing.topics
    }
    last = {one.partition for one in advances if (one.topic, one.partition, one.at_offset) in ends}
    for entry in ledger:
        if entry.name == kernel.leaves and entry.marker < entry.recomputed and entry.partition in last:
            raise Inconclusive(
                f"{pairing.name} partition {entry.partition}: an advance let {entry.recomputed} records leave, and "
                f"{entry.marker} of them have been told so far; run it again when the task has told all"
            )

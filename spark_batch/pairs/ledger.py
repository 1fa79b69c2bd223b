"""What became of the records that a join or alert reads, and how many results they gave: counted anew, beside the
marker's own figures (rule 15)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from app.domain.advance import Advance
from app.domain.event_time import NO_WATERMARK
from app.domain.fingerprint import OFFSET_BITS, PARTITION_BITS
from app.domain.marker import Fates
from app.domain.pairs.pairing import Pairing
from spark_batch.pairs.kinds import Figures, PairingKernel, RecordsByTopic
from spark_batch.stored.cut import SourceCut
from spark_batch.stored.ledgers import OF_PAIRING, Counted, LedgerEntry, fate_entries, input_entries


def ledger_of(
    kernel: PairingKernel[Any],
    cuts: Sequence[SourceCut],
    records: RecordsByTopic,
    fates: DataFrame,
    advances: Sequence[Advance],
) -> Iterator[LedgerEntry]:
    """What was read, and what became of it in the join or alert; `fates` as the recomputation has them."""
    pairing: Pairing = kernel.pairing
    counted = {topic: _counted(records[topic], pairing.source_of(topic).reported_at) for topic in pairing.topics}
    became = _fates(fates)
    for cut in cuts:
        for topic in pairing.topics:
            own = counted[topic].get(cut.partition, Counted())
            yield from input_entries(cut, topic, own, advances)
            told = kernel.position(cut.marker).fates.get(topic, Fates())
            found = became.get((cut.partition, pairing.source_of(topic).topic(topic).number), Fates())
            yield from fate_entries(cut, topic, told, found, OF_PAIRING)


def figures_of(
    kernel: PairingKernel[Any], cuts: Sequence[SourceCut], counted: Mapping[int, Figures]
) -> Iterator[LedgerEntry]:
    """How many results there are, as the marker tells it and as they were counted."""
    for cut in cuts:
        own = counted.get(cut.partition, {})
        for name, told in kernel.told(cut.marker).items():
            yield LedgerEntry(kernel.pairing.output.name, cut.partition, name, told, own.get(name, 0))


def _counted(records: DataFrame, reported_at: str) -> dict[int, Counted]:
    """Of each partition of one topic."""
    usable = F.col("reason").isNull()
    figures = records.groupBy("partition").agg(
        F.count_if(usable).alias("decoded"),
        F.count_if(~usable).alias("quarantined"),
        F.max(F.when(usable, F.col(reported_at))).alias("highest_us"),
    )
    return {
        row["partition"]: Counted(
            row["decoded"], row["quarantined"], NO_WATERMARK if row["highest_us"] is None else row["highest_us"]
        )
        for row in figures.collect()
    }


def _fates(fates: DataFrame) -> dict[tuple[int, int], Fates]:
    """By task and number of the topic."""
    number = F.shiftright("origin", OFFSET_BITS + PARTITION_BITS).alias("topic_number")
    held = defaultdict[tuple[int, int], dict[str, int]](dict)
    for row in fates.groupBy("task", number, "fate").count().collect():
        held[row["task"], row["topic_number"]][row["fate"]] = row["count"]
    return {place: Fates(**of_it) for place, of_it in held.items()}

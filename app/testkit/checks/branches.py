"""What branches have sent on, against the definition alone: each usable record once, to its topic, in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.codecs.batches.origin_headers import OFFSET, PARTITION, TIMESTAMP_MS, TOPIC
from app.domain.branch import Branch
from app.domain.oracle.branch_fold import topic_of
from app.domain.records import TopicPartition
from app.domain.source import with_derived
from app.testkit.checks.expected import Expected
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.simulation.inputs import Fact
from app.testkit.simulation.world import World


def branch_problems(world: World, settled: Sequence[Expected], branch: Branch) -> Iterator[str]:
    """Everything that is wrong with a branch's topics, record by record and source topic-partition by another."""
    for expected in settled:
        for topic in branch.source.topics:
            place = TopicPartition(topic.name, expected.marker.partition)
            for output in branch.outputs:
                wanted = [_sent_on(fact) for fact in _going_to(expected, branch, topic.name, output)]
                found = [sent for sent in _written(world, output, place.partition) if _comes_from(sent, place)]
                if wanted != found:
                    yield f"branch {branch.name}: {place} sent {found} on to {output}, not {wanted}"
    for expected in settled:
        position = expected.marker.branches[branch.name]
        ledger = tuple(
            sum(len(_going_to(expected, branch, topic.name, output)) for topic in branch.source.topics)
            for output in branch.outputs
        )
        if (position.high, position.low) != ledger:
            yield f"branch {branch.name}: {position} in the ledger, not {ledger}"
    for output in branch.outputs:
        total = sum(len(_written(world, output, p)) for p in range(world.broker.partitions))
        mine = sum(len(_going_to(e, branch, t.name, output)) for e in settled for t in branch.source.topics)
        if total != mine:
            yield f"branch {branch.name}: {total} records in {output}, not {mine}"


def _going_to(expected: Expected, branch: Branch, topic: str, output: str) -> list[Fact]:
    """The usable records of a topic that belong into `output`, in offset order."""
    usable = (r for r in expected.records if r.topic == topic and (topic, r.offset) not in expected.refused)
    chosen = [r for r in usable if topic_of(branch, with_derived(branch.source, r.values)) == output]
    return [expected.inside[topic, r.offset] for r in sorted(chosen, key=lambda r: r.offset)]


def _sent_on(fact: Fact) -> SentRecord:
    sent = fact.sample.sent
    told = (
        (TOPIC, fact.place.topic),
        (PARTITION, str(fact.place.partition)),
        (OFFSET, str(fact.offset)),
        (TIMESTAMP_MS, str(sent.timestamp_ms)),
    )
    return SentRecord(
        sent.key, sent.value, (*sent.headers, *((name, value.encode()) for name, value in told)), sent.timestamp_ms
    )


def _written(world: World, topic: str, partition: int) -> list[SentRecord]:
    entries = world.broker.log(topic, partition).committed()
    return [entry.record for entry in entries if entry.record is not None]


def _comes_from(sent: SentRecord, place: TopicPartition) -> bool:
    told = dict(sent.headers)
    return (told[TOPIC], told[PARTITION]) == (place.topic.encode(), str(place.partition).encode())

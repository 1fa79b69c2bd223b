"""What flagfall asks of a cluster's settings, as data: what each must be, and why. docs/broker-settings.md shows it.

`flagfall doctor` holds a cluster against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from app.base.kafka.clients import TRANSACTION_TIMEOUT_MS
from app.base.kafka.demand import Requirement
from app.base.kafka.topic import SAFE_REPLICAS, Topic
from app.base.setting_groups import variable
from app.base.settings import Settings

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
DAY_MINUTES = 24 * 60
CENTURY_MS = 36_525 * DAY_MS
REPEATING_MS = 120_000
"""So long a producer repeats what was not confirmed (`message.timeout.ms` of app/base/kafka/producer.py)."""
SEGMENT_BYTES = 1 << 30
SESSION = variable("worker_session_timeout_seconds")
PARTITIONS, REPLICATION_FACTOR = "partitions", "replication factor"
"""Of a topic, and no settings in Kafka's sense."""


def broker_demands(settings: Settings) -> Iterator[Requirement]:
    """Of every broker."""
    session_ms = round(settings.worker.session_timeout_seconds * 1000)
    yield Requirement(
        "transaction.max.timeout.ms",
        f"A task's producer asks for {TRANSACTION_TIMEOUT_MS}; one that asks for more than is allowed is refused, and "
        "no worker starts. What a dead worker left open ends after this time, or when the next owner fences it.",
        least=TRANSACTION_TIMEOUT_MS,
    )
    yield Requirement(
        "add.partitions.to.txn.retry.backoff.ms",
        "So long a leader waits where rows of a task's next transaction arrive while the end of the one before is "
        "still being written (by transaction.version 2). With Kafka's own 20 a small transaction on three brokers "
        "takes 36 to 40 ms instead of 19 to 20.",
        most=2,
        required=False,
    )
    yield Requirement(
        "transactional.id.expiration.ms",
        "A task that wrote nothing for longer is forgotten: its next transaction is refused, and it is taken again. "
        f"A topic may be quiet for a week: 7 x {DAY_MS}.",
        least=7 * DAY_MS,
        required=False,
    )
    yield Requirement(
        "producer.id.expiration.ms",
        "What a producer sent last is remembered for so long, so that a batch that it repeats is not appended twice. "
        f"Producers repeat for {REPEATING_MS}, by clocks that may be {HOUR_MS} apart: the sum.",
        least=REPEATING_MS + HOUR_MS,
        required=False,
    )
    yield Requirement(
        "transaction.partition.verification.enable",
        "Else a write that comes late may begin a transaction that nobody ends, and workers refuse a changelog that "
        "has one (docs/operations.md).",
        exactly="true",
    )
    yield Requirement(
        "group.min.session.timeout.ms",
        f"A worker asks for {session_ms} ({SESSION} x 1000); less than this is refused, and it never joins.",
        most=session_ms,
    )
    yield Requirement(
        "group.max.session.timeout.ms",
        f"A worker asks for {session_ms} ({SESSION} x 1000); more than this is refused, and it never joins.",
        least=session_ms,
    )
    yield Requirement(
        "offsets.retention.minutes",
        "Where a task goes on stands in its marker; what its group has committed only shows lag in Kafka's own tools. "
        f"A day, so that it can be seen after a night: 24 x 60 = {DAY_MINUTES}.",
        least=DAY_MINUTES,
        required=False,
    )
    yield Requirement(
        "auto.create.topics.enable",
        "A mistyped name, or a topic that was deleted and that a client asks about, would come to be with seven days' "
        "retention, which deletes rides of 2019 at once.",
        exactly="false",
        required=False,
    )
    yield Requirement(
        "log.cleaner.enable",
        "Else no changelog is compacted, and a recovery reads all that was ever written, at about a million rows a "
        "second.",
        exactly="true",
        required=False,
    )
    yield from _of_copies(settings.topics.replication_factor)


def _of_copies(replicas: int) -> Iterator[Requirement]:
    """Kafka's own topics, kept as safely as ours; and a broker that has nobody to hand its partitions to."""
    if replicas >= SAFE_REPLICAS:
        made_once = "It counts when the topic is made: one that is there is changed by kafka-reassign-partitions.sh."
        yield Requirement(
            "offsets.topic.replication.factor",
            f"With fewer copies than the topics the loss of one broker stops the group, and all workers. {made_once}",
            least=SAFE_REPLICAS,
        )
        yield Requirement(
            "transaction.state.log.replication.factor",
            f"It knows which transactions are committed; lost, those under way stay open. {made_once}",
            least=SAFE_REPLICAS,
        )
        yield Requirement(
            "transaction.state.log.min.isr",
            f"A commit that only one broker has is lost with it. {SAFE_REPLICAS} copies - 1 that may be away.",
            least=SAFE_REPLICAS - 1,
        )
    if replicas == 1:
        yield Requirement(
            "controlled.shutdown.enable",
            "A partition of one copy has no leader while its broker stops in order, and Kafka 4 then loses the ends of "
            "transactions (docs/operations.md).",
            exactly="false",
            required=False,
        )


REASONS: Mapping[str, str] = {
    PARTITIONS: "Partition p of all inputs is task p: one that the others lack is seen by no task "
    f"({variable('topics_partitions')}). Names of zones have one, so that one offset says which were used.",
    REPLICATION_FACTOR: f"As {variable('topics_replication_factor')} says; with three, one broker may be lost with "
    "nothing that was acknowledged.",
    "min.insync.replicas": "With three copies a write waits for two: one broker may be lost with nothing that was "
    "acknowledged, and one may be away with writes going on.",
    "cleanup.policy": "Changelogs keep the last of each key; what else there is is an input of a recomputation, and "
    "nothing of it may go.",
    "retention.ms": "Kafka keeps by the record's timestamp: seven days delete rides of 2019 as they arrive. What is "
    "deleted before it was read stops its task (LOG_LOSS).",
    "retention.bytes": "A log that is cut by size loses records that were never read (LOG_LOSS), or that reconcile "
    "reads again.",
    "message.timestamp.type": "The skew guard holds a record's event time against its producer's timestamp. By the "
    "broker's own a stray ride of 2025 in a replay of 2019 would pass, and make all others late.",
    "min.compaction.lag.ms": "Reconcile copies the changelog up to its cut; a row that is overwritten meanwhile stays "
    "there for so long. An hour; if a copy takes longer, its verdict is INCONCLUSIVE: raise it.",
    "delete.retention.ms": "A copy or a recovery that is under way must still meet the tombstones of rows that it has "
    f"read: it must take less than this. A day, 24 x {HOUR_MS}.",
    "max.message.bytes": "A task writes batches of up to 900,000 bytes, and carries records of up to 1,000,000 whole; "
    "a batch that is refused stops its task. Topics of sources, where workers take records in "
    f"({variable('http_intake')}=true): those have up to 900,000 bytes, and one that is refused is not taken.",
}
"""Why a topic's entry (app/topics.py) has what it has."""


def topic_demands(topic: Topic) -> Iterator[Requirement]:
    """Of one topic: what its entry says, and what a broker's default or another hand may have changed beside it."""
    yield Requirement(PARTITIONS, REASONS[PARTITIONS], exactly=str(topic.partitions))
    yield Requirement(REPLICATION_FACTOR, REASONS[REPLICATION_FACTOR], least=topic.replication_factor)
    yield from entry_demands(topic)
    yield from _beside_entry(topic)


def entry_demands(topic: Topic) -> Iterator[Requirement]:
    """The settings of a topic's entry, without which no worker starts."""
    for name, value in topic.settings.items():
        reason = REASONS.get(name, "")
        if name in topic.at_least:
            yield Requirement(name, reason, least=topic.at_least[name])
        else:
            yield Requirement(name, reason, exactly=value)


def _beside_entry(topic: Topic) -> Iterator[Requirement]:
    if topic.replication_factor < SAFE_REPLICAS:
        yield Requirement(
            "min.insync.replicas",
            "A write waits for so many copies: more than there are, and every one is refused; as many, and one "
            "broker's absence stops them all.",
            most=max(1, topic.replication_factor - 1),
        )
    yield Requirement(
        "unclean.leader.election.enable",
        "A leader that was out of sync lacks records that were acknowledged; a state that counts them is refused "
        "(LOG_LOSS), or worse, others come to stand at their offsets.",
        exactly="false",
    )
    yield Requirement(
        "message.timestamp.after.max.ms",
        "The skew guard believes a record's timestamp: one stamped ahead may raise the watermark so far, and what is "
        "reported after it is late. Not below a minute, as clocks differ.",
        least=MINUTE_MS,
        most=HOUR_MS,
        required=False,
    )
    yield Requirement(
        "message.timestamp.before.max.ms",
        f"Replayed rides bear the time of their drop-off. A century, 36,525 x {DAY_MS}: no trip is older.",
        least=CENTURY_MS,
        required=False,
    )
    if topic.cleanup == "compact":
        yield Requirement(
            "segment.ms",
            "What lies in the newest segment is not compacted, and is read by every recovery. A week.",
            most=7 * DAY_MS,
            required=False,
        )
        yield Requirement(
            "segment.bytes",
            f"The same by size: {SEGMENT_BYTES} / 105 bytes a row = ten million rows, ten seconds of a recovery.",
            most=SEGMENT_BYTES,
            required=False,
        )


def demands_of_topics(topics: Iterable[Topic]) -> dict[Requirement, list[str]]:
    """Each demand once, with the names of the topics of which it is asked."""
    asked: dict[Requirement, list[str]] = {}
    for topic in topics:
        for demand in topic_demands(topic):
            asked.setdefault(demand, []).append(topic.name)
    return asked

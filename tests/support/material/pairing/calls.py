"""Made-up calls and bills, few ids and instants near every bound: what joins and alerts are held to.

`calls.events` says when a call began and ended, `calls.bills` what it cost.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.codecs.avro.schema import Schemas
from app.domain.advance import Advance
from app.domain.marker import InputPosition
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Either, Half, Join, JoinKind, Only, Side, Taken
from app.domain.records import Record, Value
from app.domain.source import Column, Kind, Source, SourceTopic
from app.engine.core.batch import Batch, Output, Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.testkit.encoding import encode, schema_of

SECOND_US = 1_000_000
START_US = 1_767_589_200_000_000
EVENTS, BILLS = "calls.events", "calls.bills"
_INSTANT = {"low": 0, "high": 4_102_444_800_000_000}
CALLS = Source(
    number=41,
    name="calls",
    topics=(SourceTopic(41, EVENTS),),
    record="Call",
    columns=(
        Column("call_id", Kind.TEXT, True),
        Column("what", Kind.TEXT, True),
        Column("at_us", Kind.INSTANT, True, **_INSTANT),
        Column("sent_at_us", Kind.INSTANT, False, **_INSTANT),
        Column("place", Kind.IDENTIFIER, True, 1, 9),
    ),
    key="call_id",
    reported_at="sent_at_us",
    id="call_id",
    skew_seconds=600,
)
BILLED = Source(
    number=42,
    name="billed",
    topics=(SourceTopic(42, BILLS),),
    record="Bill",
    columns=(
        Column("call_id", Kind.TEXT, False),
        Column("billed_at_us", Kind.INSTANT, False, **_INSTANT),
        Column("cents", Kind.INTEGER, False, 0, 1000),
    ),
    key="call_id",
    reported_at="billed_at_us",
    id="call_id",
    skew_seconds=600,
)
STARTS = Half(CALLS, EVENTS, "call_id", "at_us", Only("what", ("START",)))
ENDS = Half(CALLS, EVENTS, "call_id", "at_us", Only("what", ("END", "LOST")))
PAID = Join(
    number=1,
    name="paid_calls",
    left=STARTS,
    right=Half(BILLED, BILLS, "call_id", "billed_at_us"),
    bound_seconds=60,
    grace_seconds=20,
    columns=(
        Either("call_id", "call_id", "call_id"),
        Taken("place", Side.LEFT, "place"),
        Taken("cents", Side.RIGHT, "cents"),
        Either("known_at_us", "at_us", "billed_at_us"),
    ),
    key="call_id",
    reported_at="known_at_us",
    output=SourceTopic(43, "calls.paid"),
    help="calls and their bills, at most a minute apart",
)
WHOLE = Join(
    number=2,
    name="whole_calls",
    left=STARTS,
    right=ENDS,
    bound_seconds=60,
    grace_seconds=20,
    columns=(
        Either("call_id", "call_id", "call_id"),
        Taken("from_place", Side.LEFT, "place"),
        Taken("to_place", Side.RIGHT, "place"),
        Either("known_at_us", "at_us", "at_us"),
    ),
    key="call_id",
    reported_at="known_at_us",
    output=SourceTopic(44, "calls.whole"),
    help="beginning and end of a call, both of one topic",
)
LONG = Alert(
    number=1,
    name="long_calls",
    starts=STARTS,
    ends=ENDS,
    longer_than_seconds=60,
    grace_seconds=20,
    columns=("place",),
    output=SourceTopic(45, "calls.long"),
    help="calls of more than a minute",
)
SCHEMA_IDS = {EVENTS: 1, BILLS: 2, "calls.paid": 3, "calls.whole": 4, "calls.long": 5}
SCHEMAS: Schemas = {1: schema_of(CALLS, 1), 2: schema_of(BILLED, 2)}
_TIMES = (-90, -80, -79, -61, -60, -59, -21, -20, -19, -1, 0, 0, 0, 0, 1, 5, 20, 60)
"""Seconds between a record's own instant and the sender's clock: every bound, and either side of it."""

IDS = ("c0", "a call of more than twelve letters", 'quoted "\\" \n\x1f', "é漢😀", "")
"""Short and long, what JSON writes otherwise, and nothing."""


def of_kind(join: Join, kind: JoinKind) -> Join:
    return replace(join, kind=kind)


def defined(joins: Sequence[Join] = (), alerts: Sequence[Alert] = ()) -> TaskDefinition:
    return TaskDefinition("app", (CALLS, BILLED), (), tuple(joins), schema_ids=SCHEMA_IDS, alerts=tuple(alerts))


def core_of(definition: TaskDefinition) -> TaskCore:
    inputs = {topic: InputPosition("id", 0, 0) for topic in definition.topics}
    return TaskCore(definition, new_state(definition, 0, inputs))


@dataclass
class CallLog:
    """Partition 0 of a topic: what stands in it, and the instants to which its watermark is raised at offsets."""

    source: Source
    topic: str
    records: list[Record] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    raised: list[Advance] = field(default_factory=list)
    end: int = 0

    def batch(self, base: int, until: int) -> Batch:
        """What stands in `[base, until)`, as a fetch would give it."""
        mine = {r.offset: r for r in self.records if base <= r.offset < until}
        offsets = sorted([*mine, *(at for at in self.damaged if base <= at < until)])
        schema_id = SCHEMA_IDS[self.topic]
        return Batch(
            topic=self.topic,
            partition=0,
            base_offset=base,
            next_offset=until,
            offsets=np.array(offsets, np.int64),
            timestamps_ms=np.array([mine[at].timestamp_ms if at in mine else 0 for at in offsets], np.int64),
            keys=[b"k"] * len(offsets),
            values=[encode(self.source, schema_id, mine[at].values) if at in mine else b"?" for at in offsets],
            headers=[(("from", b"\xff"),) if at % 5 == 0 else () for at in offsets],
        )


def random_log(draws: random.Random, source: Source, topic: str, count: int) -> CallLog:
    """A topic of so many offsets, in disorder: few ids that come back, ties, damaged records, gaps."""
    log, clock = CallLog(source, topic, end=count), 0
    for offset in range(count):
        clock += draws.choice((0, 0, 1, 5, 20, 45))
        if draws.random() < 0.03:
            to_us = START_US + (clock + draws.choice((0, 1, 80, 200))) * SECOND_US
            log.raised.append(Advance(topic, 0, offset, to_us))
        roll = draws.random()
        if roll < 0.05:
            continue
        if roll < 0.1:
            log.damaged.append(offset)
            continue
        ahead = 10_000 if roll > 0.97 else 0
        sent_us = START_US + (clock + ahead) * SECOND_US
        name = draws.choice(IDS)
        at_us = sent_us + draws.choice(_TIMES) * SECOND_US
        values: dict[str, Value]
        if source is CALLS:
            what = draws.choice(("START", "START", "END", "LOST", "RING", None))
            values = {"what": what, "sent_at_us": sent_us, "place": draws.choice((1, 9, None))}
            values |= {"call_id": draws.choice((name,) * 9 + (None,)), "at_us": draws.choice((at_us,) * 9 + (None,))}
        else:
            values = {"call_id": name, "billed_at_us": at_us, "cents": draws.randrange(1000)}
        log.records.append(Record(topic, 0, offset, (START_US + clock * SECOND_US) // 1000, values))
    return log


def play(core: TaskCore, logs: Sequence[CallLog], draws: random.Random, most: int = 12) -> list[Transaction]:
    """Fold logs in random pieces, topics interleaved at random, upkeep now or later; gives the transactions."""
    done: list[Transaction] = []
    at = {log.topic: 0 for log in logs}
    raised = {log.topic: list(log.raised) for log in logs}

    def commit(transaction: Transaction | None) -> bool:
        if transaction is not None:
            core.commit(transaction, 0)
            done.append(transaction)
        return transaction is not None

    while left := [log for log in logs if at[log.topic] < log.end]:
        log = draws.choice(left)
        here = raised[log.topic]
        while here and here[0].at_offset == at[log.topic]:
            commit(core.advance(log.topic, here.pop(0).watermark_us))
            while draws.random() < 0.5 and commit(core.keep_up()):
                pass
        until = min([log.end, at[log.topic] + draws.randint(1, most), *(a.at_offset for a in here[:1])])
        commit(core.plan(core.read([log.batch(at[log.topic], until)], SCHEMAS)))
        at[log.topic] = until
        while draws.random() < 0.5 and commit(core.keep_up()):
            pass
    while commit(core.keep_up()):
        pass
    return done


def outputs(transactions: Sequence[Transaction], topic: str) -> list[Output]:
    return [output for transaction in transactions for output in transaction.outputs if output.topic == topic]

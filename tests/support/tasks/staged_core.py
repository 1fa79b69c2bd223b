"""A core whose task has all stages, run by hand: batches in, closed and settled, outputs read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.domain.marker import InputPosition
from app.domain.pairs.join import Half, Join, Side, Taken
from app.domain.source import SourceTopic
from app.engine.core.batch import Batch, Output, Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import new_state
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from tests.support.material.histories import TOPIC_NAMES

YELLOW, GREEN = TOPIC_NAMES[:2]

MEETING = Join(
    number=1,
    name="meeting",
    left=Half(RIDES, YELLOW, "ride_id", "pickup_at_us"),
    right=Half(RIDES, GREEN, "ride_id", "pickup_at_us"),
    bound_seconds=3600,
    grace_seconds=1800,
    columns=(
        Taken("ride_id", Side.LEFT, "ride_id"),
        Taken("left_at_us", Side.LEFT, "pickup_at_us"),
        Taken("right_at_us", Side.RIGHT, "pickup_at_us"),
        Taken("vendor", Side.RIGHT, "vendor"),
    ),
    key="ride_id",
    reported_at="left_at_us",
    output=SourceTopic(60, "rides.met"),
    help="the same ride, told twice",
)


def core_of(definition: TaskDefinition, partition: int = 0) -> TaskCore:
    inputs = {topic: InputPosition("id", 0, 0) for topic in definition.topics}
    return TaskCore(definition, new_state(definition, partition, inputs))


def settle(core: TaskCore, transaction: Transaction | None) -> list[Transaction]:
    """Commit a transaction, and all the upkeep that follows."""
    done = []
    while transaction is not None:
        core.commit(transaction, 0)
        done.append(transaction)
        transaction = core.keep_up()
    return done


def outputs(transactions: Sequence[Transaction], topic: str) -> list[Output]:
    return [output for transaction in transactions for output in transaction.outputs if output.topic == topic]


def close(core: TaskCore, to_us: int) -> list[Transaction]:
    """Raise every watermark."""
    done: list[Transaction] = []
    for topic in core.definition.by_topic:
        done += settle(core, core.advance(topic, to_us))
    return done


def batch_of_outputs(topic: str, partition: int, base: int, given: Sequence[Output]) -> Batch:
    return Batch(
        topic=topic,
        partition=partition,
        base_offset=base,
        next_offset=base + len(given),
        offsets=np.arange(base, base + len(given)),
        timestamps_ms=np.zeros(len(given), np.int64),
        keys=[output.key for output in given],
        values=[output.value for output in given],
        headers=[()] * len(given),
    )

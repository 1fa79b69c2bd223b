"""Batches taken by a core, what came of them, and that its ledgers add up."""

from __future__ import annotations

from app.engine.core.batch import Batch, Output, Transaction
from app.engine.core.task import TaskCore
from tests.support.material.histories import SCHEMAS
from tests.support.tasks.task_batches import REQUESTS


def take(core: TaskCore, batch: Batch) -> Transaction:
    transaction = core.plan(core.read([batch], SCHEMAS))
    assert transaction is not None
    core.commit(transaction, 0)
    return transaction


def to(topic: str, transaction: Transaction) -> list[Output]:
    return [output for output in transaction.outputs if output.topic == topic]


def assert_ledgers(core: TaskCore) -> None:
    """Rule 15: every offset is told of once, and every decoded record once per view."""
    marker = core.state.marker
    for topic, position in marker.inputs.items():
        assert position.adds_up
        if topic == REQUESTS or not position.next_offset:
            continue
        for view in marker.views.values():
            assert view.fates[topic].total == position.decoded

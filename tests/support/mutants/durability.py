"""Faults of what is written, fenced, committed and restored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app.engine.core.batch import Batch, Transaction
from app.engine.core.draft import Draft
from app.engine.core.restore import Restorer
from app.engine.core.task import TaskCore
from app.engine.core.task_state import BlocksCounted
from app.testkit.cluster.broker import Broker, SimulatedProducer
from app.testkit.cluster.partition_log import PartitionLog
from app.testkit.cluster.simulated_task import Calls, SimulatedTask


def plant_skip_the_fence(patch: pytest.MonkeyPatch) -> None:
    """The broker lets a former owner go on, as without transactional ids."""

    def admitted(broker: Broker, producer: SimulatedProducer) -> Any:
        return broker._coordinators[producer.transactional_id]

    patch.setattr(Broker, "_admitted", admitted)


def plant_read_the_changelog_before_the_fence(patch: pytest.MonkeyPatch) -> None:
    def run(self: SimulatedTask) -> Iterator[None]:
        state = yield from self._restored()
        producer = self.fence()
        yield
        self.core = TaskCore(self.definition, state)
        while True:
            transaction = yield from self._planned(self.core)
            if transaction is not None:
                yield from self._committed(self.core, transaction, producer)

    patch.setattr(SimulatedTask, "run", run)


def plant_write_some_outputs_twice(patch: pytest.MonkeyPatch) -> None:
    plan = TaskCore.plan

    def doubled(self: TaskCore, reads: Any) -> Transaction | None:
        transaction = plan(self, reads)
        if transaction is None:
            return None
        return replace(transaction, outputs=[*transaction.outputs, *transaction.outputs[:1]])

    patch.setattr(TaskCore, "plan", doubled)


def plant_commit_twice(patch: pytest.MonkeyPatch) -> None:
    """A worker that does not hear of its commit writes the transaction again."""
    committed = SimulatedTask._committed

    def twice(self: SimulatedTask, core: TaskCore, transaction: Transaction, producer: SimulatedProducer) -> Calls:
        yield from committed(self, core, replace(transaction, effects=[]), producer)
        yield from committed(self, core, transaction, producer)

    patch.setattr(SimulatedTask, "_committed", twice)


def plant_commit_without_the_marker(patch: pytest.MonkeyPatch) -> None:
    """Rows and marker in two transactions."""

    def committed(self: SimulatedTask, core: TaskCore, transaction: Transaction, producer: SimulatedProducer) -> Calls:
        *rows, marker = transaction.changelog
        offset = -1
        for part in (
            replace(transaction, changelog=rows),
            replace(transaction, changelog=[marker], outputs=[]),
        ):
            for place, record in self._in_some_order(part):
                offset = producer.send(place, record)
                yield
            producer.commit()
            yield
        core.commit(transaction, offset)

    patch.setattr(SimulatedTask, "_committed", committed)


def plant_show_a_batch_before_its_commit(patch: pytest.MonkeyPatch) -> None:
    def committed(self: SimulatedTask, core: TaskCore, transaction: Transaction, producer: SimulatedProducer) -> Calls:
        core.commit(transaction, -1)
        for place, record in self._in_some_order(transaction):
            offset = producer.send(place, record)
            if place.topic == self.changelog.topic:
                core.state.marker_offset = offset
            yield
        producer.commit()
        yield

    patch.setattr(SimulatedTask, "_committed", committed)


def plant_forget_the_rows_of_some_batches(patch: pytest.MonkeyPatch) -> None:
    plan = TaskCore.plan

    def forgetful(self: TaskCore, reads: Any) -> Transaction | None:
        transaction = plan(self, reads)
        if transaction is None or transaction.marker.sequence % 3:
            return transaction
        return replace(transaction, changelog=transaction.changelog[-1:], effects=[])

    patch.setattr(TaskCore, "plan", forgetful)


def plant_restore_from_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    fetch = PartitionLog.fetch

    def dirty(self: PartitionLog, offset: int, most: int, **more: Any) -> Batch:
        return fetch(self, offset, most, **{**more, "committed": not self.topic.endswith("changelog")})

    patch.setattr(PartitionLog, "fetch", dirty)


def plant_fold_input_that_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    fetch = PartitionLog.fetch

    def dirty(self: PartitionLog, offset: int, most: int, **more: Any) -> Batch:
        return fetch(self, offset, most, **{**more, "committed": not self.topic.startswith("parcels.")})

    patch.setattr(PartitionLog, "fetch", dirty)


def plant_restore_without_the_end_of_the_changelog(patch: pytest.MonkeyPatch) -> None:
    """Reading ends at the first read that gives nothing."""
    read = Restorer.read

    def short(self: Restorer, batch: Batch) -> None:
        if self.records < 5:
            read(self, batch)

    patch.setattr(Restorer, "read", short)


def plant_trust_a_kept_state_without_reading_on(patch: pytest.MonkeyPatch) -> None:
    """What another owner wrote in between is not read."""
    restored = SimulatedTask._restored

    def trusting(self: SimulatedTask) -> Any:
        if self._kept is not None:
            self._kept.marker_offset = self.changelog.end - 1
        return restored(self)

    patch.setattr(SimulatedTask, "_restored", trusting)


def plant_compact_to_the_first_value(patch: pytest.MonkeyPatch) -> None:
    compact = PartitionLog.compact

    def first(self: PartitionLog, below: int, **more: Any) -> None:
        self.entries.reverse()
        compact(self, below, **more)
        self.entries.reverse()

    patch.setattr(PartitionLog, "compact", first)


def plant_count_blocks_per_batch(patch: pytest.MonkeyPatch) -> None:
    """A block's total of the former batches is forgotten."""
    patch.setattr(
        BlocksCounted, "swap_in", lambda self, state: state.blocks.clear() or state.blocks.update(self.totals)
    )


def plant_lose_tombstones(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Draft, "drop_rows", lambda self, view, rows: None)

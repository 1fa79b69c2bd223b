"""Faust's aiokafka driver, made to hand over one columnar batch per topic-partition and fetch.

Group membership, assignor, rebalances, seeks and commits stay Faust's own. What is overridden, and why,
is measured in docs/decisions/0002-columnar-driver.md; versions are pinned because private parts are used.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

import faust
from aiokafka.errors import UnknownTopicOrPartitionError
from faust.transport.drivers import aiokafka as stock
from faust.types import TP, ConsumerMessage

from app.engine.core.batch import Batch
from app.engine.drive import background
from app.engine.drive.faust_parts.assignor import NameTaken
from app.engine.drive.faust_parts.fetch_pace import FetchPace
from app.engine.drive.kafka.fetch import drain
from app.engine.drive.kafka.prepared import prepare

FETCH_SECONDS = 0.25
"""Longest wait of one call to the fetcher, and so for partitions that come while it waits."""
FETCH_SECONDS_HELD = 0.005
"""The same while some partition is held back because its task has enough to do."""


class BatchSchema(faust.Schema):
    """Gives the agent the batch as the driver made it; nothing is decoded here, so nothing can fail here."""

    def loads_key(self, app: Any, message: Any, **_: Any) -> Any:
        return message.key

    def loads_value(self, app: Any, message: Any, **_: Any) -> Any:
        return message.value


class ColumnarConsumerThread(stock.AIOKafkaConsumerThread):
    """The thread in which aiokafka's consumer lives."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        worker = self.app.worker_settings
        consumer._fetch_min_bytes = worker.fetch_min_bytes
        consumer._fetch_max_wait_ms = worker.fetch_max_wait_ms
        consumer._isolation_level = "read_committed"
        prepare(consumer._client)
        return consumer

    async def on_start(self) -> None:
        await super().on_start()
        self._pace = FetchPace(self._consumer._fetcher)
        coordinator = self._consumer._coordinator
        coordinator._do_heartbeat = self._noting(coordinator._do_heartbeat)
        coordinator._do_commit_offsets = passing_gone(coordinator._do_commit_offsets)
        coordinator._coordination_task.add_done_callback(self._coordination_ended)

    def _stopped_set(self) -> None:
        """Nothing to be told to a thread that has crashed: mode would raise, and bury what it crashed of."""
        try:
            super()._stopped_set()
        except RuntimeError:
            if not self.thread_loop.is_closed():
                raise

    async def heartbeat(self) -> bool:
        """Ask the coordinator now whether this member of this generation is still accepted."""
        accepted: bool = await self.call_thread(self._consumer._coordinator._do_heartbeat)
        return accepted

    async def seek_to_committed(self, known: Collection[TP] = ()) -> Mapping[TP, int]:
        """All but those whose place is known: offsets are asked for one after the other, and there for nothing."""
        committed: Mapping[TP, int] = await self.call_thread(self._seek_all_but, frozenset(known))
        return committed

    async def _seek_all_but(self, known: frozenset[TP]) -> Mapping[TP, int]:
        others = self._consumer.assignment() - known
        return await self._consumer.seek_to_committed(*others) if others else {}

    def _noting(self, heartbeat: Any) -> Any:
        async def noting() -> bool:
            accepted: bool = await heartbeat()
            if accepted:
                self.app.groups.membership.heartbeat_accepted(time.monotonic())
            return accepted

        return noting

    def _coordination_ended(self, task: asyncio.Task[None]) -> None:
        """Without it this is no member of its group any more, and would wait for ever: the worker ends."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        cause = error.__cause__ or error
        if isinstance(cause, NameTaken):  # a member with a name does not leave when it ends, but this one must
            self._consumer._coordinator._group_instance_id = None
        background.begin_elsewhere(self.app.fail(cause), self.app.ending.loop, "ending without a coordinator")

    async def _fetch_records(
        self,
        consumer: Any,
        active_partitions: Any,
        timeout: float | None = None,
        max_records: int | None = None,
    ) -> Any:
        if not self.consumer.flow_active:
            return {}
        fetcher = consumer._fetcher
        if consumer._closed or fetcher._closed:
            raise stock.ConsumerStoppedError()
        with fetcher._subscriptions.fetch_context():
            drained = await drain(fetcher, active_partitions, timeout or 0)
        self._pace.saw(records=bool(drained))
        self.app.groups.log_ends_seen(_ends_seen(consumer))
        return drained


def passing_gone(commit: Any) -> Any:
    """The same, content without a topic that is gone.

    aiokafka would repeat the commit for ever, in the middle of a rebalance or of the worker's end. Offsets are for lag
    monitors; that the topic is gone is for `InputWatch`, or the next take-over, to say.
    """

    async def committing(assignment: Any, offsets: Any) -> None:
        with suppress(UnknownTopicOrPartitionError):
            await commit(assignment, offsets)

    return committing


def _ends_seen(consumer: Any) -> dict[tuple[str, int], int]:
    """Last stable offset of each assigned topic-partition, as the last answer to a fetch told."""
    subscription = consumer._subscription.subscription
    assignment = None if subscription is None else subscription.assignment
    if assignment is None:
        return {}
    states = ((tp, assignment.state_value(tp)) for tp in assignment.tps)
    return {(tp.topic, tp.partition): state.lso for tp, state in states if state is not None and state.lso is not None}


class ColumnarConsumer(stock.Consumer):
    """One message per batch; positions come from the tables' markers, never from the group's offsets."""

    def _new_consumer_thread(self) -> ColumnarConsumerThread:
        return ColumnarConsumerThread(self, loop=self.loop, beacon=self.beacon)

    async def heartbeat(self) -> bool:
        """Ask the coordinator now whether this member of this generation is still accepted."""
        accepted: bool = await self._thread.heartbeat()
        return accepted

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:
        wait = FETCH_SECONDS_HELD if self._buffered_partitions else FETCH_SECONDS
        return await super()._getmany(active_partitions, min(wait, timeout))

    async def _wait_next_records(self, timeout: float) -> Any:
        if self.flow_active and not self._get_active_partitions() and not self.app.client_only:
            await self.sleep(FETCH_SECONDS_HELD)  # the stock consumer sleeps a whole second here
            return {}, self._get_active_partitions()
        return await super()._wait_next_records(timeout)

    def _to_message(self, tp: TP, batch: Batch) -> ConsumerMessage:
        return ConsumerMessage(
            batch.topic,
            batch.partition,
            batch.next_offset - 1,
            time.time(),
            0,
            None,
            None,
            batch,
            None,
            -1,
            -1,
            tp,
            generation_id=self.app.consumer_generation_id,
        )

    def _new_offset(self, tp: TP) -> int | None:
        """Batches are acknowledged in order, so the last acknowledged one tells how far the state is."""
        acked = self._acked[tp]
        if not acked:
            return None
        top = max(acked)
        acked.clear()
        self._acked_index[tp].clear()
        return int(top) + 1

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        """Gaps need no book-keeping: a batch says which offsets it covers."""

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing: Faust takes a stream for slow by when the consumer began, and knows of no batches.

        What gets nowhere is told by `progress`, in one line with the cause.
        """

    async def on_partitions_revoked(self, revoked: Any) -> None:
        await self.app.groups.quiesce()
        self._buffered_partitions.difference_update(revoked)  # a fenced task's are let go by nobody else
        await self.commit()
        await super().on_partitions_revoked(revoked)

    async def commit_and_end_transactions(self) -> None:
        """The last commit; none after a crash, for its thread ends by itself, maybe before it could answer."""
        if not self.crashed:
            await super().commit_and_end_transactions()

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """What no table reads."""
        committed: Mapping[TP, int] = await self._thread.seek_to_committed(self.app.groups.positions())
        return committed

    async def perform_seek(self) -> None:
        """Seek to where the states end; topics that no table reads go to their committed offsets."""
        await super().perform_seek()
        positions: Mapping[TP, int] = {
            tp: offset for tp, offset in self.app.groups.positions().items() if tp in self.assignment()
        }
        if positions:
            await self.seek_wait(positions)


class ColumnarTransport(stock.Transport):
    """What `faust.App` takes as its transport."""

    Consumer = ColumnarConsumer

"""Faults planted into the worker, the core or the broker: a simulation that finds none of one kind proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.codecs.stored.changelog import Int64s
from app.domain.branch import Branch
from app.domain.corrections.correction import Refusal
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import LIVE
from app.domain.pairs.alert import Alert
from app.domain.rules import obeyed
from app.domain.windows import Calendar
from app.engine.core import building, definition, task
from app.engine.core.batch import Batch, Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.draft import Draft
from app.engine.core.pairs import joining, watching
from app.engine.core.records import branching, reading
from app.engine.core.restore import Restorer
from app.engine.core.results import closing, corrections
from app.engine.core.task import TaskCore
from app.engine.core.task_state import BlocksCounted
from app.engine.core.views import aggregate, ended, folding, sessions
from app.engine.core.views.folding import Part
from app.testkit.cluster.broker import Broker, Producer
from app.testkit.cluster.partition_log import PartitionLog
from app.testkit.cluster.simulated_task import Calls, SimulatedTask

Plant = Callable[[pytest.MonkeyPatch], None]


def plants() -> dict[str, Plant]:
    """Every fault, by what it does."""
    return {name.removeprefix("plant_"): plant for name, plant in globals().items() if name.startswith("plant_")}


def plant_skip_the_fence(patch: pytest.MonkeyPatch) -> None:
    """The broker lets a former owner go on, as without transactional ids."""

    def admitted(broker: Broker, producer: Producer) -> Any:
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
    plan = TaskCore.plan_read

    def doubled(self: TaskCore, reads: Any) -> Transaction | None:
        transaction = plan(self, reads)
        if transaction is None:
            return None
        return replace(transaction, outputs=[*transaction.outputs, *transaction.outputs[:1]])

    patch.setattr(TaskCore, "plan_read", doubled)


def plant_commit_twice(patch: pytest.MonkeyPatch) -> None:
    """A worker that does not hear of its commit writes the transaction again."""
    committed = SimulatedTask._committed

    def twice(self: SimulatedTask, core: TaskCore, transaction: Transaction, producer: Producer) -> Calls:
        yield from committed(self, core, replace(transaction, effects=[]), producer)
        yield from committed(self, core, transaction, producer)

    patch.setattr(SimulatedTask, "_committed", twice)


def plant_commit_without_the_marker(patch: pytest.MonkeyPatch) -> None:
    """Rows and marker in two transactions."""

    def committed(self: SimulatedTask, core: TaskCore, transaction: Transaction, producer: Producer) -> Calls:
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
    def committed(self: SimulatedTask, core: TaskCore, transaction: Transaction, producer: Producer) -> Calls:
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
    plan = TaskCore.plan_read

    def forgetful(self: TaskCore, reads: Any) -> Transaction | None:
        transaction = plan(self, reads)
        if transaction is None or transaction.marker.sequence % 3:
            return transaction
        return replace(transaction, changelog=transaction.changelog[-1:], effects=[])

    patch.setattr(TaskCore, "plan_read", forgetful)


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


def plant_apply_late_records(patch: pytest.MonkeyPatch) -> None:
    _fold_with(patch, lambda watermarks_us: np.full_like(watermarks_us, NO_WATERMARK))


def plant_be_late_one_second_later(patch: pytest.MonkeyPatch) -> None:
    _fold_with(patch, lambda watermarks_us: watermarks_us - 1_000_000)


def _fold_with(patch: pytest.MonkeyPatch, watermark: Callable[[Int64s], Int64s]) -> None:
    fold_views = task.fold_views

    def folded(draft: Draft, views: Any, parts: Sequence[Part]) -> Any:
        marks = [watermark(part.usable.watermarks_us) for part in parts]
        changed = [replace(part.usable, watermarks_us=us) for part, us in zip(parts, marks, strict=True)]
        return fold_views(draft, views, [Part(part.batch, us) for part, us in zip(parts, changed, strict=True)])

    patch.setattr(task, "fold_views", folded)


def plant_let_the_first_record_of_a_batch_be_the_watermark(patch: pytest.MonkeyPatch) -> None:
    top = task._top
    first = lambda usable: replace(usable, index=usable.index[:1], watermarks_us=usable.watermarks_us[:1])  # noqa: E731
    patch.setattr(task, "_top", lambda usable, position: top(first(usable), position))


def plant_forget_the_watermark_between_batches(patch: pytest.MonkeyPatch) -> None:
    _use_with(patch, lambda source, batch, _: (source, batch, NO_WATERMARK))


def plant_let_skewed_records_pass(patch: pytest.MonkeyPatch) -> None:
    _use_with(patch, lambda source, batch, watermark_us: (replace(source, skew_seconds=10**10), batch, watermark_us))


def _use_with(patch: pytest.MonkeyPatch, changed: Callable[..., tuple[Any, ...]]) -> None:
    usable_records = reading.usable_records

    def used(source: Any, batch: Batch, watermark_us: int, *more: Any) -> Any:
        return usable_records(*changed(source, batch, watermark_us), *more)

    patch.setattr(reading, "usable_records", used)


def plant_count_blocks_per_batch(patch: pytest.MonkeyPatch) -> None:
    """A block's total of the former batches is forgotten."""
    patch.setattr(
        BlocksCounted, "swap_in", lambda self, state: state.blocks.clear() or state.blocks.update(self.totals)
    )


def plant_lose_tombstones(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Draft, "drop_rows", lambda self, view, rows: None)


def plant_leave_sessions_apart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sessions, "_touched", lambda *_: [])


def plant_forget_ids_of_halves_too_soon(patch: pytest.MonkeyPatch) -> None:
    """A half that has met is forgotten at once, so its duplicates count."""
    patch.setattr(joining, "settled", lambda half: half._replace(id=None, waiting=None))


def plant_let_halves_leave_by_the_higher_watermark(patch: pytest.MonkeyPatch) -> None:
    keep_up = joining.keep_up

    def hasty(draft: Draft, join: Any) -> None:
        inputs = draft.marker.inputs
        topics = (join.left.topic, join.right.topic)
        top = max(inputs[topic].watermark_us for topic in topics)
        kept = draft.marker
        draft.marker = replace(kept, inputs=inputs | {t: replace(inputs[t], watermark_us=top) for t in topics})
        before = draft.marker
        keep_up(draft, join)
        draft.marker = kept if draft.marker is before else replace(draft.marker, inputs=inputs)

    patch.setattr(joining, "keep_up", hasty)


def plant_tell_alerts_behind_the_batch(patch: pytest.MonkeyPatch) -> None:
    """Timers wait for the upkeep, which knows only where the batch ended."""
    batch = watching.watch_batch

    def slow(*given: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(watching._Watching, "let_go", lambda *_: None)
            return batch(*given)

    patch.setattr(watching, "watch_batch", slow)


def plant_forget_to_remove_what_an_alert_was_told_of(patch: pytest.MonkeyPatch) -> None:
    """No tombstone: whoever restores the state tells it again."""
    patch.setattr(watching.WorkingHalves, "go", lambda self, half: None)


def plant_tell_an_alert_at_the_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Alert, "is_long", lambda self, began_us, ended_us: ended_us - began_us >= self.longer_than_us)


def plant_take_a_building_view_for_live(patch: pytest.MonkeyPatch) -> None:
    """A new view begins where its task is, and passes for complete."""
    position = TaskDefinition._position
    patch.setattr(TaskDefinition, "_position", lambda self, *args: replace(position(self, *args), state=LIVE, built={}))


def plant_apply_corrections_whatever_stands_there(patch: pytest.MonkeyPatch) -> None:
    judge = corrections.judge

    def lenient(*asked: Any) -> Any:
        why = judge(*asked)
        return None if why == Refusal.MOVED_ON else why

    patch.setattr(corrections, "judge", lenient)


def plant_correct_open_rows(patch: pytest.MonkeyPatch) -> None:
    judge = corrections.judge

    def hasty(*asked: Any) -> Any:
        why = judge(*asked)
        return None if why == Refusal.OPEN else why

    patch.setattr(corrections, "judge", hasty)


def plant_forget_what_a_release_without_the_view_missed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(definition, "_left", lambda position, _: position)


def plant_forget_what_former_graces_had_closed(patch: pytest.MonkeyPatch) -> None:
    with_grace = obeyed.with_grace

    def floorless(*args: Any, **more: Any) -> Any:
        return tuple(replace(epoch, floor_us=NO_WATERMARK) for epoch in with_grace(*args, **more))

    patch.setattr(obeyed, "with_grace", floorless)


def plant_judge_late_without_the_floor(patch: pytest.MonkeyPatch) -> None:
    """A window that a smaller grace had closed takes records again."""
    patch.setattr(folding, "seen_by", lambda view, graces, topics, usable: usable)


def plant_close_windows_without_the_floor(patch: pytest.MonkeyPatch) -> None:
    lowest = lambda view, marker: marker.lowest_watermark_us(topic.name for topic in view.source.topics)  # noqa: E731
    patch.setattr(ended, "lowest_seen_us", lowest)


def plant_begin_an_epoch_where_the_log_begins(patch: pytest.MonkeyPatch) -> None:
    """As if the rule had always held."""
    with_grace = obeyed.with_grace
    patch.setattr(obeyed, "with_grace", lambda *args, **more: with_grace(*args, **{**more, "at": more["start"]}))


def plant_build_by_the_present_skew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(building, "epoch_at", lambda skews, offset: None)


def plant_keep_new_rules_to_itself(patch: pytest.MonkeyPatch) -> None:
    """An epoch that nothing else makes worth a transaction is not written."""
    finish = Restorer.finish

    def quiet(self: Restorer, *args: Any) -> Any:
        state = finish(self, *args)
        state.is_ahead = False
        return state

    patch.setattr(Restorer, "finish", quiet)


def plant_publish_finals_before_all_tasks_have_closed(patch: pytest.MonkeyPatch) -> None:
    publish = task.publish_finals

    def early(draft: Draft, view: Any) -> None:
        marks = draft.state.marks[view.name]
        if marks:
            furthest = max(marks.values())
            draft.state.marks[view.name] = dict.fromkeys(range(draft.definition.task_count), furthest)
        publish(draft, view)
        draft.state.marks[view.name] = marks

    patch.setattr(task, "publish_finals", early)


def plant_send_a_closed_row_to_one_partition(patch: pytest.MonkeyPatch) -> None:
    """A mark that only one merging task is told of."""
    close = task.close_windows

    def close_for_one(draft: Draft, view: Any) -> None:
        before = len(draft.outputs)
        close(draft, view)
        draft.outputs[before:] = [output for output in draft.outputs[before:] if not output.partition]

    patch.setattr(task, "close_windows", close_for_one)


def plant_take_an_amount_at_the_threshold_for_low(patch: pytest.MonkeyPatch) -> None:
    reaches = branching._reaches
    patch.setattr(branching, "_reaches", lambda branch, usable: reaches(_dearer(branch), usable))


def _dearer(branch: Branch) -> Branch:
    return replace(branch, threshold=branch.threshold + 1)


def plant_send_on_the_last_record_of_a_batch_first(patch: pytest.MonkeyPatch) -> None:
    sent_on = branching._sent_on
    patch.setattr(branching, "_sent_on", lambda batch, index, topics: sent_on(batch, index[::-1], topics[::-1]))


def plant_count_a_late_record_in_hopping_windows_that_have_closed(patch: pytest.MonkeyPatch) -> None:
    placed = aggregate.placed

    def too_early(view: Any, usable: Any) -> Any:
        found = placed(view, usable)
        if found.first_windows is None:
            return found
        return found._replace(first_windows=found.first_windows - view.window.step_us)

    patch.setattr(aggregate, "placed", too_early)


def plant_lose_the_windows_behind_a_bounded_step(patch: pytest.MonkeyPatch) -> None:
    some = closing.next_closed

    def as_if_all(state: Any, after_us: int | None, to_us: int, _: int) -> Any:
        return some(state, after_us, to_us, 1)._replace(to_us=to_us)

    patch.setattr(closing, "next_closed", as_if_all)


def plant_close_a_calendar_window_before_its_last_record(patch: pytest.MonkeyPatch) -> None:
    """As if every window of a calendar were as long as the shortest part of it that clocks can show."""
    to_us = closing.closable_to_us

    def hasty(view: Any, marker: Any) -> int | None:
        found = to_us(view, marker)
        return found if found is None or not isinstance(view.window, Calendar) else found + 3_600_000_000

    patch.setattr(closing, "closable_to_us", hasty)

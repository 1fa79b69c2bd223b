"""Faults of rules that change, and of what is published in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain import obeyed
from app.domain.branch import Branch
from app.domain.event_time import NO_WATERMARK
from app.engine.core import building, completing, task
from app.engine.core.draft import Draft
from app.engine.core.kinds import hopping
from app.engine.core.kinds.calendar import CalendarKernel
from app.engine.core.kinds.contract import Closed
from app.engine.core.records import branching
from app.engine.core.restore import Restorer
from app.engine.core.views import aggregate, ended, folding


def plant_forget_what_a_release_without_the_view_missed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(completing, "_left", lambda position, _: position)


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
        send = draft.send
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(draft, "send", lambda outputs: None if outputs.partition else send(outputs))
            close(draft, view)

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
        return found._replace(first_windows=found.first_windows - view.window.overlap.step_us)

    patch.setattr(aggregate, "placed", too_early)


def plant_lose_the_windows_behind_a_bounded_step(patch: pytest.MonkeyPatch) -> None:
    some = hopping.next_closed

    def as_if_all(state: Any, overlap: Any, after_us: int | None, to_us: int, _: int) -> Any:
        return some(state, overlap, after_us, to_us, 1)._replace(to_us=to_us)

    patch.setattr(hopping, "next_closed", as_if_all)


def plant_close_a_calendar_window_before_its_last_record(patch: pytest.MonkeyPatch) -> None:
    """As if every window of a calendar were as long as the shortest part of it that clocks can show."""
    next_closed = CalendarKernel.next_closed

    def hasty(self: CalendarKernel, state: Any, after_us: int | None, to_us: int, most: int) -> Closed:
        return next_closed(self, state, after_us, to_us + 3_600_000_000, most)

    patch.setattr(CalendarKernel, "next_closed", hasty)

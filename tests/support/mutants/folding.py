"""Faults of what becomes of a record: late, skewed, paired, corrected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.codecs.arrays import Int64s
from app.domain.corrections.correction import Refusal
from app.domain.event_time import NO_WATERMARK
from app.domain.marker import LIVE
from app.engine.core import completing, task
from app.engine.core.batch import Batch
from app.engine.core.draft import Draft
from app.engine.core.pairs import changing, joining, watching
from app.engine.core.pairs.walking import Times, Walk
from app.engine.core.records import reading
from app.engine.core.results import corrections
from app.engine.core.rows.halves import NewHalves
from app.engine.core.rows.state import ViewState
from app.engine.core.views.folding import UsableBatch


def plant_apply_late_records(patch: pytest.MonkeyPatch) -> None:
    _fold_with(patch, lambda watermarks_us: np.full_like(watermarks_us, NO_WATERMARK))


def plant_be_late_one_second_later(patch: pytest.MonkeyPatch) -> None:
    _fold_with(patch, lambda watermarks_us: watermarks_us - 1_000_000)


def _fold_with(patch: pytest.MonkeyPatch, watermark: Callable[[Int64s], Int64s]) -> None:
    fold_views = task.fold_views

    def folded(draft: Draft, views: Any, parts: Sequence[UsableBatch]) -> Any:
        marks = [watermark(part.usable.watermarks_us) for part in parts]
        changed = [replace(part.usable, watermarks_us=us) for part, us in zip(parts, marks, strict=True)]
        return fold_views(draft, views, [UsableBatch(part.batch, us) for part, us in zip(parts, changed, strict=True)])

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


def plant_leave_sessions_apart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ViewState, "touching", lambda *_: np.empty(0, np.int64))


def plant_forget_ids_of_halves_too_soon(patch: pytest.MonkeyPatch) -> None:
    """A half that has met is forgotten at once, so its duplicates count."""
    keep = changing.keep_halves

    def hasty(*given: Any) -> None:
        draft, of, held, settled, gone, new = given
        waits = np.flatnonzero(new.waits)
        come = NewHalves(new.places[waits], new.waits[waits], new.at_us[waits], new.ids.at(waits), new.values.at(waits))
        keep(draft, of, held, settled[:0], np.union1d(settled, gone), come)

    patch.setattr(changing, "keep_halves", hasty)


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
            inner.setattr(Walk, "_leavers", lambda *_: np.empty(0, np.int64))
            return batch(*given)

    patch.setattr(watching, "watch_batch", slow)


def plant_forget_to_remove_what_an_alert_was_told_of(patch: pytest.MonkeyPatch) -> None:
    """No tombstone: whoever restores the state tells it again."""
    patch.setattr(Walk, "gone", np.empty(0, np.int64))


def plant_tell_an_alert_at_the_bound(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(watching, "Times", lambda *times: Times(*times[:-1], times[-1] - 1))


def plant_take_a_building_view_for_live(patch: pytest.MonkeyPatch) -> None:
    """A new view begins where its task is, and passes for complete."""
    position = completing._position
    patch.setattr(completing, "_position", lambda *args: replace(position(*args), state=LIVE, built={}))


def plant_apply_corrections_whatever_stands_there(patch: pytest.MonkeyPatch) -> None:
    why_not_applied = corrections.why_not_applied

    def lenient(*asked: Any) -> Any:
        why = why_not_applied(*asked)
        return None if why == Refusal.MOVED_ON else why

    patch.setattr(corrections, "why_not_applied", lenient)


def plant_correct_open_rows(patch: pytest.MonkeyPatch) -> None:
    why_not_applied = corrections.why_not_applied

    def hasty(*asked: Any) -> Any:
        why = why_not_applied(*asked)
        return None if why == Refusal.OPEN else why

    patch.setattr(corrections, "why_not_applied", hasty)

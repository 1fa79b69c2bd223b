"""Faults in how tasks begin that come with partitions that were added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.event_time import NO_WATERMARK
from app.domain.marker import Marker
from app.engine.core.batch import Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.mending import widening
from app.engine.core.mending.stored_marker import marker_transaction
from app.testkit.simulation import widening as simulated


def plant_let_an_added_task_take_what_was_published(patch: pytest.MonkeyPatch) -> None:
    """Neither its watermark nor the floor of its grace is raised: each alone keeps closed windows closed."""
    patch.setattr(widening, "_lowest", lambda others, topic: NO_WATERMARK)
    patch.setattr(widening, "_closed_alike", lambda view, marker, others: marker.views[view.name])


def plant_tell_nobody_where_an_added_task_begins(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(widening, "_advances", lambda definition, marker: [])


def plant_spread_closed_rows_over_added_partitions(patch: pytest.MonkeyPatch) -> None:
    def spread(definition: TaskDefinition, marker: Marker) -> Transaction | None:
        if marker.tasks == definition.task_count:
            return None
        count = definition.task_count
        return marker_transaction(definition, replace(marker, tasks=count, closing_partitions=count))

    patch.setattr(simulated, "tell_count", spread)


def plant_wait_for_no_added_task(patch: pytest.MonkeyPatch) -> None:
    """Finals go out when those have closed that were there before."""
    from app.engine.core.results import merging

    publish = merging.publish_finals

    def hasty(draft: Any, view: Any) -> None:
        draft.definition = replace(draft.definition, task_count=draft.marker.closing_partitions)
        publish(draft, view)

    patch.setattr("app.engine.core.task.publish_finals", hasty)

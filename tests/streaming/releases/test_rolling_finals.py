"""Finals of views that come and go while releases take turns: whole, and told once, whoever held which task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.view import View
from app.engine.core.definition import TaskDefinition
from app.testkit.cluster.broker import Broker
from app.testkit.simulation.parcels import HUB_LOAD, PARCELS, ROUNDS
from tests.support.tasks.several import HUBS, counted, finals_told, fold, minute_of, send_everywhere

OTHER = replace(HUB_LOAD, name="other", number=9, measures=HUB_LOAD.measures[:1])


def release(*views: View) -> TaskDefinition:
    return TaskDefinition("app", (PARCELS,), views, finals=tuple(view.name for view in views), task_count=2)


WITHOUT, WITH = release(OTHER), release(OTHER, HUB_LOAD)
WHOLE = [(minute, 4 * len(HUBS)) for minute in (0, 10, 20, 50)]


@pytest.fixture
def cluster() -> Broker:
    """Two tasks with four windows, of which three are closed."""
    broker = Broker(partitions=2)
    send_everywhere(broker, 0, 10, 20, 55)
    return broker


def test_a_view_that_a_rolling_restart_adds_publishes_whole_finals(cluster: Broker) -> None:
    """The old release passes over what the new one's tasks close, and reads it again when it is restarted."""
    fold(cluster, WITHOUT)
    fold(cluster, WITH, WITHOUT)
    fold(cluster, WITH)
    send_everywhere(cluster, 90)
    fold(cluster, WITH)
    assert counted(cluster, HUB_LOAD) == counted(cluster, OTHER) == WHOLE


def test_a_task_that_goes_back_to_a_release_without_a_view_misses_nothing_of_it(cluster: Broker) -> None:
    fold(cluster, WITH)
    fold(cluster, WITH, WITHOUT)
    send_everywhere(cluster, 90)
    fold(cluster, WITH, WITHOUT)
    assert counted(cluster, HUB_LOAD) == WHOLE[:3]
    fold(cluster, WITH)
    assert counted(cluster, HUB_LOAD) == WHOLE


def test_a_view_that_all_tasks_leave_for_a_while_goes_on_with_what_was_closed(cluster: Broker) -> None:
    fold(cluster, WITH, WITHOUT)
    fold(cluster, WITHOUT)
    send_everywhere(cluster, 90)
    fold(cluster, WITHOUT)
    fold(cluster, WITHOUT, WITH)
    fold(cluster, WITH)
    assert counted(cluster, HUB_LOAD) == WHOLE


def test_a_view_of_two_versions_in_two_tasks_publishes_whole_finals_of_the_one_that_stays(cluster: Broker) -> None:
    changed = replace(HUB_LOAD, measures=HUB_LOAD.measures[:2])
    fold(cluster, release(HUB_LOAD))
    fold(cluster, release(changed), release(HUB_LOAD))
    send_everywhere(cluster, 90)
    fold(cluster, release(changed), release(HUB_LOAD))
    fold(cluster, release(changed))
    assert counted(cluster, changed) == WHOLE
    fold(cluster, release(HUB_LOAD))
    assert counted(cluster, HUB_LOAD) == WHOLE


def test_sessions_that_a_rolling_restart_adds_are_whole(cluster: Broker) -> None:
    with_rounds = release(OTHER, ROUNDS)
    fold(cluster, WITHOUT)
    fold(cluster, with_rounds, WITHOUT)
    send_everywhere(cluster, 90)
    fold(cluster, with_rounds, WITHOUT)
    fold(cluster, with_rounds)
    send_everywhere(cluster, 200)
    fold(cluster, with_rounds)
    told = [(minute_of(one["window_start_us"]), one["count"]) for one in finals_told(cluster, ROUNDS)]
    assert sorted(told) == [(0, 12 * len(HUBS)), (55, 4 * len(HUBS)), (90, 4 * len(HUBS))]

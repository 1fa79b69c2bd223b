"""What a new release makes of alerts that the one before kept, or did not keep."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from app.domain.errors import StateError
from app.domain.pairs.alert import Alert
from app.engine.core.definition import TaskDefinition
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.releases import alert_over
from app.testkit.simulation.parcels import CARRIERS, PARCELS, SKEW_SECONDS
from app.testkit.simulation.samples import SCHEMAS, WRITTEN_IDS
from app.testkit.simulation.sent_on import STUCK
from tests.support.tasks.mended import send


def watch(broker: Broker, *alerts: Alert) -> SimulatedTask:
    """A worker of a release that has these alerts."""
    definition = TaskDefinition("app", (PARCELS,), (CARRIERS,), schema_ids=WRITTEN_IDS, alerts=alerts)
    task = SimulatedTask(broker, definition, 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    return task


def test_a_new_alert_begins_where_its_task_is(broker: Broker) -> None:
    send(broker, 0)
    watch(broker)
    send(broker, 1)
    core = watch(broker, STUCK).core
    assert core is not None
    position = core.state.marker.alerts[STUCK.name]
    assert position.start == {"parcels.air": 1}
    assert sum(fates.total for fates in position.fates.values()) == 1


def test_an_alert_that_a_release_did_not_keep_is_refused_in_words(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    watch(broker)
    watch(broker, STUCK)  # nothing was missed
    send(broker, 1)
    watch(broker)
    with pytest.raises(StateError, match=r"alert 'stuck_hubs' was not kept from .* an alert cannot be built anew"):
        watch(broker, STUCK)


def test_an_alert_whose_grace_changed_is_refused_in_words_unless_it_is_another(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    patient = replace(STUCK, grace_seconds=STUCK.grace_seconds + 1)
    with pytest.raises(StateError, match=r"alert 'stuck_hubs' was .* and is .* now: its bound, grace, halves"):
        watch(broker, patient)
    core = watch(broker, replace(patient, number=STUCK.number + 1)).core
    assert core is not None
    assert core.state.marker.alerts[STUCK.name].start == {"parcels.air": 1}


def test_an_alert_that_is_only_renamed_goes_on_with_what_it_holds(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    send(broker, 1)
    core = watch(broker, replace(STUCK, name="renamed")).core
    assert core is not None
    (position,) = core.state.marker.alerts.values()
    assert position.start == {"parcels.air": 0}
    assert sum(fates.total for fates in position.fates.values()) == 2


@pytest.mark.parametrize("missed", [True, False])
def test_an_alert_whose_name_another_takes_for_a_while_goes_on_only_if_it_missed_nothing(
    broker: Broker, missed: bool
) -> None:
    """It would find what it held then, and nothing of what came since."""
    send(broker, 0)
    watch(broker, STUCK)
    if missed:
        send(broker, 1)
    watch(broker, replace(STUCK, number=STUCK.number + 1))
    if missed:
        with pytest.raises(StateError, match=r"alert 'stuck_hubs' was not kept from .* an alert cannot be built anew"):
            watch(broker, STUCK)
    else:
        core = watch(broker, STUCK).core
        assert core is not None
        assert core.state.marker.alerts[STUCK.name].start == {"parcels.air": 0}


def test_an_alert_goes_on_when_its_source_s_skew_changes(broker: Broker) -> None:
    send(broker, 0)
    watch(broker, STUCK)
    lenient = replace(PARCELS, skew_seconds=2 * SKEW_SECONDS)
    alerts = (alert_over(STUCK, {lenient.name: lenient}),)
    definition = TaskDefinition("app", (lenient,), (), schema_ids=WRITTEN_IDS, alerts=alerts)
    task = SimulatedTask(broker, definition, 0, SCHEMAS, random.Random(1))
    run_until_idle([task])
    assert task.core is not None
    marker = task.core.state.marker
    assert marker.alerts[STUCK.name].version == STUCK.version
    assert [epoch.skew_seconds for epoch in marker.inputs["parcels.air"].skews] == [SKEW_SECONDS, 2 * SKEW_SECONDS]

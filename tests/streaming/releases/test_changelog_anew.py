"""A changelog that is deleted and made again under its tasks: whoever takes one over never takes it for a first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.base import names
from app.codecs.stored.changelog import marker_key
from app.codecs.stored.marker import encode_marker
from app.domain.errors import StateError
from app.domain.records import TopicPartition
from app.testkit.cluster.broker import Broker
from app.testkit.cluster.partition_log import SentRecord
from app.testkit.cluster.simulated_task import SimulatedTask
from app.testkit.cluster.until_idle import run_until_idle
from app.testkit.simulation.parcels import PARCELS
from tests.support.tasks.mended import DEFINITION, last_marker, send, take_over

CHANGELOG = names.changelog_topic("app", PARCELS.name)


def test_a_changelog_that_was_made_anew_between_two_workers_is_not_taken_for_a_first(broker: Broker) -> None:
    send(broker, 0)
    take_over(broker)
    broker.create_anew(CHANGELOG)
    with pytest.raises(StateError, match=r"changelog-0: the changelog was created anew \(id simulated-1, the task's"):
        take_over(broker)


def test_a_changelog_that_was_made_anew_under_a_worker_that_wrote_on_is_refused_by_the_next(broker: Broker) -> None:
    send(broker, 0)
    worker = take_over(broker)
    broker.create_anew(CHANGELOG)
    send(broker, 0)
    run_until_idle([worker])
    with pytest.raises(StateError, match=r"was created anew \(id simulated-1, the task's was simulated\)"):
        take_over(broker)


def test_a_task_that_had_stored_nothing_begins_in_whatever_changelog_there_is(broker: Broker) -> None:
    take_over(broker)
    broker.create_anew(CHANGELOG)
    send(broker, 0)
    task = take_over(broker)
    assert task.core is not None
    assert task.core.state.marker.changelog_id == broker.topic_id(CHANGELOG)


def test_a_changelog_that_was_emptied_is_refused_though_it_is_the_same(broker: Broker) -> None:
    send(broker, 0)
    task = take_over(broker)
    task.changelog.delete_below(task.changelog.end)
    with pytest.raises(StateError, match="the changelog holds no marker any more"):
        take_over(broker)


@pytest.mark.parametrize("value", [b"junk", b"[]", b"{}", b'{"changelog_id":7}', b"\xff"])
def test_what_no_task_wrote_of_its_beginning_is_refused_with_its_place(broker: Broker, value: bytes) -> None:
    broker.produce(TopicPartition(names.begun_topic("app"), 0), SentRecord(f"{CHANGELOG}-0".encode(), value))
    with pytest.raises(StateError, match=r"app\.begun-0: what stands at offset 0 was written by no task"):
        take_over(broker)


def test_what_others_wrote_beside_what_tasks_tell_is_none_of_theirs(broker: Broker) -> None:
    for key in (b"junk", None, f"{CHANGELOG}-1".encode()):
        broker.produce(TopicPartition(names.begun_topic("app"), 0), SentRecord(key, b"junk"))
    assert take_over(broker).core is not None


def test_a_marker_that_names_no_changelog_is_completed_before_another_record_comes(broker: Broker) -> None:
    """As those of before layout 6."""
    send(broker, 0)
    forget_the_changelog(take_over(broker))
    task = take_over(broker)
    assert last_marker(task).changelog_id == broker.topic_id(CHANGELOG)
    broker.create_anew(CHANGELOG)
    with pytest.raises(StateError, match="the changelog was created anew"):
        take_over(broker)


def forget_the_changelog(task: SimulatedTask) -> None:
    """What the log and the topic beside it say is what a release before layout 6 would have left."""
    task.broker.create_anew(names.begun_topic("app"))
    marker = encode_marker(replace(last_marker(task), changelog_id=""))
    producer = task.fence()
    producer.send(TopicPartition(CHANGELOG, 0), SentRecord(marker_key(DEFINITION.number), marker))
    producer.commit()
    while task.broker.mark_one(task.transactional_id):
        pass

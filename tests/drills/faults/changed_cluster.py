"""Topics become others under workers: made anew, given more partitions, their records deleted before they were read.

Every worker must end with 1 and in words. Then what the words advise: another application begins on what is there, and
its figures are compared.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

from confluent_kafka.admin import NewPartitions

from app.base.kafka.administrator import admin_client
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.rides.ride import RIDES
from app.topics import application_topics, source_topics
from tests.drills.drill import DrillBroken
from tests.drills.world.field import Field
from tests.drills.world.fleet import Fleet, has_ended
from tests.support.machine.asking import results
from tests.support.machine.cluster import write_rides
from tests.support.machine.workers import Worker
from tests.support.machine.world import covers, delete_records, delete_topics, own_world
from tests.support.truth import log_ends

TOPIC = "rides.green"
RIDES_BEFORE, RIDES_AFTER = 1_000, 2_000
SESSION_SECONDS = 60
"""Longer than a topic takes to be made anew: the group does not learn of it."""


def run(field: Field) -> None:
    for number in range(field.size.rounds):
        for what, (change, words) in CHANGES.items():
            _is_refused(field, f"{number}-{what.replace(' ', '-')}", change, words)
    own_world(field.settings)  # nothing of it is left, and topics are as declared
    field.start_workers(2)
    field.let_rides_pass(1, 3)


def _made_anew(settings: Settings, fleet: Fleet) -> None:
    delete_topics(settings, [TOPIC])
    create_topics(settings.kafka, source_topics(settings, RIDES))
    write_rides(settings, RIDES_BEFORE, RIDES_AFTER)


def _made_anew_unseen(settings: Settings, fleet: Fleet) -> None:
    with _frozen(fleet):
        _made_anew(settings, fleet)


def _deleted(settings: Settings, fleet: Fleet) -> None:
    delete_topics(settings, [TOPIC])


def _with_more_partitions(settings: Settings, fleet: Fleet) -> None:
    more = [NewPartitions(TOPIC, settings.topics.partitions + 1)]
    admin = admin_client(settings.kafka)
    results(admin.create_partitions(more).values(), "partitions are added", 30)


def _overtaken_by_retention(settings: Settings, fleet: Fleet) -> None:
    with _frozen(fleet):
        write_rides(settings, RIDES_BEFORE, RIDES_AFTER)
        delete_records(settings, log_ends(settings, RIDES))
        write_rides(settings, RIDES_BEFORE + RIDES_AFTER, RIDES_BEFORE)


Change = Callable[[Settings, Fleet], None]
CHANGES: dict[str, tuple[Change, str]] = {
    "made anew": (_made_anew, TOPIC),
    "made anew unseen": (_made_anew_unseen, "the topic was created anew"),
    "deleted": (_deleted, "has no such topic"),
    "more partitions": (_with_more_partitions, "5 partitions, not 4"),
    "retention": (_overtaken_by_retention, "LOG_LOSS: the log begins at offset"),
}
"""What is done while workers run, and what each of them must say, beside the remedy."""
REMEDIES = ("`flagfall rebuild`", "FLAGFALL_APP_ID", "`flagfall widen`")


@contextlib.contextmanager
def _frozen(fleet: Fleet) -> Iterator[None]:
    for worker in fleet.members:
        fleet.freeze(worker)
    yield
    for worker in fleet.members:
        fleet.thaw(worker)


def _is_refused(field: Field, name: str, change: Change, words: str) -> None:
    """Two workers of an application of its own end so."""
    settings = field.settings.model_copy(update={"app_id": f"{field.settings.app_id}-{name}"})
    own_world(settings)
    write_rides(settings, 0, RIDES_BEFORE)
    fleet = Fleet(settings, field.folder / name, field.note)
    try:
        workers = [fleet.start(worker_session_timeout_seconds=SESSION_SECONDS) for _ in range(2)]
        field.wait(lambda: all(fleet.tasks([w]) for w in workers) and fleet.own_all(), "both workers have tasks")
        field.wait(lambda: covers(settings, workers[0]), "every ride is covered")
        field.note(name)
        change(settings, fleet)
        began = time.monotonic()
        field.wait(lambda: all(map(has_ended, workers)), f"both workers refuse: {name}")
        field.note("refused", after_seconds=round(time.monotonic() - began, 1), said=[_said(w, words) for w in workers])
    finally:
        fleet.end()
        delete_topics(settings, [topic.name for topic in application_topics(settings, RIDES.name)])


def _said(worker: Worker, words: str) -> str:
    """The line with the words and the remedy. DrillBroken if there is none, or the worker ended otherwise."""
    told, code = worker.log.read_text(), worker.process.returncode
    line = next((line for line in told.splitlines() if words in line and any(r in line for r in REMEDIES)), None)
    if code != 1 or line is None:
        raise DrillBroken(f"{worker.log.stem} ended with {code} and these words: {told[-1_000:]}")
    return line.partition("[ERROR] ")[2].strip()

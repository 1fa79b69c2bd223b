"""Starts meet their fares and long rides are told, each once, through kill -9 of the worker that does it; and
views over all of it, over what was joined too, are exact."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from app.base.files.verdicts import Verdict
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.base.worker_door import WorkerDoor
from app.domain.oracle.alert_fold import fold_alert
from app.domain.oracle.join_fold import fold_join
from app.domain.pairs.alert import END_ORIGIN, START_ORIGIN
from app.domain.pairs.join import LEFT_ORIGIN, RIGHT_ORIGIN, Side
from app.domain.pairs.pairing import Pairing
from app.domain.records import Record
from app.domain.source import Source
from app.edge.cli.records.lifecycle_sending import send_lifecycle
from app.rides.lifecycle.lifecycle import Lifecycle
from app.rides.lifecycle.pairing import FARED, FARED_STARTS, LONG_RIDES
from app.rides.lifecycle.questions import FARED_QUESTIONS, LIFE_QUESTIONS, TAXIS
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.lifecycle.views import PAYMENTS
from app.rides.shipped import shipped
from app.topics import needed_topics
from spark_batch.findings.report import Report
from spark_batch.reconcile import reconcile
from tests.support.evidence import evidence_of
from tests.support.machine.spark import lent
from tests.support.machine.waiting import wait_for
from tests.support.machine.workers import Worker
from tests.support.machine.world import assert_exact, delete_records, markers
from tests.support.truth import log_ends, records_of

RIDES_EACH = 700
SWITCHED_ON = {"FLAGFALL_LIFECYCLE": "true", "FLAGFALL_QUESTIONS": "true"}
LIVES = Lifecycle(5, rides_per_day=3_000)
"""So few a day that hours pass, in which halves that nobody meets leave, and rides that have no end are told."""

RECOMPUTED = (PAYMENTS, TAXIS, *FARED_QUESTIONS)

Pairs = Counter[tuple[int | None, int | None]]


@pytest.mark.spark
def test_every_start_meets_its_fare_once_and_long_rides_are_told(
    world: Settings, spark: SparkSession, tmp_path: Path
) -> None:
    on = world.model_copy(update={"lifecycle": True, "questions": True})
    create_topics(on.kafka, needed_topics(on))
    for source in (RIDE_EVENTS, FARES, FARED_STARTS.source, LONG_RIDES.source):
        delete_records(on, log_ends(on, source))
    started = [Worker(on, tmp_path / f"{i}.log", SWITCHED_ON) for i in range(2)]
    try:
        wait_for(lambda: all(one.is_ready() for one in started), "workers are ready", started)
        send_lifecycle(on, LIVES, 0, RIDES_EACH, None, quiet=True)
        wait_for(lambda: bool(told(on)[0]), "starts have met fares", started)
        wait_for(lambda: covers(on, RIDE_EVENTS, FARES), "what was sent is read", started)
        for view, asked in itertools.product(LIFE_QUESTIONS, started):  # each has records of tasks of the other's
            for row in asked.get(f"/v1/views/{view.name}/rows", limit=2).json()["data"]:
                assert evidence_of(asked, view, row, limit=1_000).meta["agrees"], row
        send_lifecycle(on, LIVES, RIDES_EACH, RIDES_EACH, None, quiet=True)
        started[0].kill()  # while they are under way
        expected = due(on)
        wait_for(
            lambda: covers(on, RIDE_EVENTS, FARES) and has_as_many(told(on), expected),
            "as much is told as there must be",
            started[1:],
        )
        assert told(on) == expected
        assert (over_http(started[1], FARED_STARTS), over_http(started[1], LONG_RIDES)) == expected
        wait_for(lambda: covers(on, FARED), "what was joined is read", started[1:])
        assert_exact(on, started[1:], LIFE_QUESTIONS)
        assert_exact(on, started[1:], FARED_QUESTIONS)
        for view in (*LIFE_QUESTIONS, *FARED_QUESTIONS):
            for row in started[1].get(f"/v1/views/{view.name}/rows", limit=3).json()["data"]:
                assert evidence_of(started[1], view, row, limit=1_000).meta["agrees"], row
        report = checked(on, spark, started[1].url, tmp_path)
        assert (report.verdict, report.reason) == (Verdict.MATCH, None)
        assert {one.view for one in report.views} == set(RECOMPUTED)
        assert {one.pairing.name: one.compared.due for one in report.pairings} == {
            FARED_STARTS.name: expected[0].total(),
            LONG_RIDES.name: expected[1].total(),
        }
        assert not any(one.compared.gone or one.differing for one in report.pairings)
    finally:
        for one in started:
            one.kill()
    pairs, alerts = expected
    assert {left is None or right is None for left, right in pairs} == {True, False}
    assert alerts
    assert set(pairs.values()) == set(alerts.values()) == {1}


def checked(settings: Settings, spark: SparkSession, url: str, folder: Path) -> Report:
    """What Spark says of the views over both sources of a group, and over what is joined of them."""
    groups = shipped(settings).over(RECOMPUTED)
    return reconcile(
        settings, lent(spark), groups, worker=WorkerDoor(url), output=folder / "reports", work=folder / "work"
    )


def due(settings: Settings) -> tuple[Pairs, Pairs]:
    """Origins of what the join and the alert must give, by the naive folds."""
    pairs, alerts = Pairs(), Pairs()
    records = [*records_of(settings, RIDE_EVENTS), *records_of(settings, FARES)]
    for partition in range(settings.topics.partitions):
        mine = [record for record in records if record.partition == partition]
        joined = fold_join(FARED_STARTS, mine)
        pairs.update(joined.pairs)
        pairs.update((origin, None) for origin in joined.unmatched[Side.LEFT])
        pairs.update((None, origin) for origin in joined.unmatched[Side.RIGHT])
        alerts.update((one.start, one.end) for one in fold_alert(LONG_RIDES, mine).told)
    return pairs, alerts


def told(settings: Settings) -> tuple[Pairs, Pairs]:
    """Origins of what stands in the topics of the join and the alert."""
    joined, alerts = records_of(settings, FARED_STARTS.source), records_of(settings, LONG_RIDES.source)
    return _origins(joined, LEFT_ORIGIN, RIGHT_ORIGIN), _origins(alerts, START_ORIGIN, END_ORIGIN)


def over_http(worker: Worker, pairing: Pairing) -> Pairs:
    """The same, as a worker answers it, page by page."""
    found, asked = Pairs(), dict[str, object]()
    while True:
        page = worker.get(f"/v1/results/{pairing.output.name}", limit=500, **asked).json()
        found.update(tuple(one["values"][origin] for origin in pairing.origins) for one in page["data"])
        if (cursor := page["meta"]["next_cursor"]) is None:
            return found
        asked = {"cursor": cursor}


def has_as_many(found: tuple[Pairs, Pairs], expected: tuple[Pairs, Pairs]) -> bool:
    """Whether no more is to come, whichever it is: halves leave after their topics are read, a few at a time."""
    return all(have.total() >= want.total() for have, want in zip(found, expected, strict=True))


def _origins(records: list[Record], first: str, second: str) -> Pairs:
    pairs = Pairs()
    for record in records:
        left, right = record.values[first], record.values[second]
        assert left is None or isinstance(left, int)
        assert right is None or isinstance(right, int)
        pairs[left, right] += 1
    return pairs


def covers(settings: Settings, *sources: Source) -> bool:
    """Whether the markers of all tasks of a group are at the ends of its topics."""
    ends = {place: end for source in sources for place, end in log_ends(settings, source).items()}
    return all(
        (found := markers(settings, partition, sources[0])) and found[-1].inputs[topic].next_offset >= end
        for (topic, partition), end in ends.items()
    )

"""A task with sessions, panes, a total, finals and a join, played over random logs."""

from __future__ import annotations

import random
from collections.abc import Sequence

from app.domain.measures.kinds import Count, First, Max, Min, Sum
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.engine.core.batch import Transaction
from app.engine.core.definition import TaskDefinition
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from tests.support.material.histories import SCHEMAS, Log, random_log, random_splits
from tests.support.tasks.staged_core import GREEN, MEETING, YELLOW, settle

MEASURES = (
    Count("rides"),
    Sum("fare", "fare_cents"),
    Min("least", "fare_cents"),
    Max("most", "total_cents"),
    First("first", "tip_cents"),
)

BY_VENDOR = (Group("vendor", "vendor"), Group("zone", "pickup_zone"))

SHIFTS = View(50, "shifts", RIDES, BY_VENDOR[:1], Session("pickup_at_us", 1800), MEASURES, 3600, 7200, "sessions")

HOURS = View(51, "hours", RIDES, BY_VENDOR, Tumbling("pickup_at_us", 3600), MEASURES, 1800, 7200, "hours")

TOTAL = View(52, "total", RIDES, BY_VENDOR, AllTime(), MEASURES, 0, 0, "all time")

MET_ID = 77

TASKS = 2

WHOLE = TaskDefinition(
    "app",
    (RIDES,),
    (SHIFTS, HOURS, TOTAL),
    (MEETING,),
    finals=("hours", "shifts"),
    task_count=TASKS,
    schema_ids={"rides.met": MET_ID},
)


def play(core: TaskCore, logs: Sequence[Log], rng: random.Random) -> list[Transaction]:
    """Fold logs in random pieces, topics interleaved at random; gives the transactions."""
    pieces = [[log.batch(base, until) for base, until in random_splits(rng, log.next_offset)] for log in logs]
    done: list[Transaction] = []
    while left := [of_topic for of_topic in pieces if of_topic]:
        done += settle(core, core.plan(core.read([rng.choice(left).pop(0)], SCHEMAS)))
    return done


def two_logs(rng: random.Random, partition: int = 0, count: int = 80) -> list[Log]:
    return [random_log(rng, topic, partition, rng.randint(0, count)) for topic in (YELLOW, GREEN)]

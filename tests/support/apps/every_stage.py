"""A worker whose tasks do all that tasks can do: `faust -A tests.support.apps.every_stage worker`.

Rides are told twice: when they begin (`staged.begun`) and when they are paid (`staged.paid`), under one id. Over both
stand panes with finals, sessions and a running total; the two halves of a ride meet. `FLAGFALL_TEST_STAGED=more` adds
a view that was not there before.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from app.base.kafka.topic import Topic
from app.base.settings import Settings
from app.definitions.registered import register_schemas
from app.domain.measures.kinds import Count, First, Max, Min, Sum
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Half, Join, JoinKind, Only, Side, Taken
from app.domain.source import SourceTopic
from app.domain.view import Group, View
from app.domain.windows.all_time import AllTime
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.edge.worker import create_worker
from app.engine.core.definition import TaskDefinition
from app.engine.drive.faust_parts.app import FlagfallApp
from app.engine.drive.faust_parts.driver import BatchSchema
from app.engine.drive.faust_parts.source_table import SourceTable
from app.rides.ride import RIDES
from app.topics import application_topics, finals_topics, pairing_topics, source_topics

BEGUN, PAID, MET, WAITED = "staged.begun", "staged.paid", "staged.met", "staged.waited"
STAGED = replace(RIDES, number=3, name="staged", topics=(SourceTopic(110, BEGUN), SourceTopic(111, PAID)))
MEASURES = (
    Count("rides"),
    Sum("fare_cents", "fare_cents"),
    Min("least_cents", "fare_cents"),
    Max("dearest_cents", "total_cents"),
    First("first_tip_cents", "tip_cents"),
)
BY_ZONE = (Group("zone", "pickup_zone"),)
DEMAND = View(110, "staged_demand", STAGED, BY_ZONE, Tumbling("pickup_at_us", 300), MEASURES, 3600, 3600, "panes", 3600)
SHIFTS = View(
    111,
    "staged_shifts",
    STAGED,
    (Group("vendor", "vendor"),),
    Session("pickup_at_us", 20),
    MEASURES,
    3600,
    3600,
    "spans",
)
TRIPS = View(112, "staged_trips", STAGED, (Group("vendor", "vendor"),), AllTime(), MEASURES, 0, 0, "a running total")
NEW = View(113, "staged_new", STAGED, BY_ZONE, Tumbling("dropoff_at_us", 600), MEASURES, 60, 10**8, "added later")
PUBLISHED = (DEMAND, SHIFTS)
MEETING = Join(
    number=110,
    name="staged_meeting",
    left=Half(STAGED, BEGUN, "ride_id", "pickup_at_us"),
    right=Half(STAGED, PAID, "ride_id", "pickup_at_us"),
    bound_seconds=1800,
    grace_seconds=3600,
    columns=(
        Taken("ride_id", Side.LEFT, "ride_id"),
        Taken("pickup_at_us", Side.LEFT, "pickup_at_us"),
        Taken("pickup_zone", Side.LEFT, "pickup_zone"),
        Taken("total_cents", Side.RIGHT, "total_cents"),
    ),
    key="pickup_zone",
    reported_at="pickup_at_us",
    output=SourceTopic(112, MET),
    help="begun, and paid if it was",
    kind=JoinKind.LEFT,
)
WAITING = Alert(
    number=110,
    name="staged_waiting",
    starts=Half(STAGED, BEGUN, "ride_id", "pickup_at_us", Only("vendor", ("1",))),
    ends=Half(STAGED, BEGUN, "ride_id", "pickup_at_us", Only("vendor", ("2",))),
    longer_than_seconds=600,
    grace_seconds=3600,
    columns=("pickup_zone",),
    output=SourceTopic(113, WAITED),
    help="rides of one vendor, each of which waits in vain for another's",
)
MORE = "FLAGFALL_TEST_STAGED"

PAIRED = (MEETING.source, WAITING.source)


def definition(settings: Settings, *, more: bool) -> TaskDefinition:
    """What the tasks do; `more`: with the view that was added."""
    return TaskDefinition(
        settings.app_id,
        (STAGED,),
        (DEMAND, SHIFTS, TRIPS, NEW) if more else (DEMAND, SHIFTS, TRIPS),
        (MEETING,),
        finals=tuple(view.name for view in PUBLISHED),
        task_count=settings.topics.partitions,
        schema_ids=register_schemas(settings, PAIRED, own=PAIRED),
        alerts=(WAITING,),
    )


def every_stage_topics(settings: Settings) -> list[Topic]:
    """All that the tasks read and write."""
    sources = source_topics(settings, STAGED)
    outputs = pairing_topics(settings, (MEETING, WAITING))
    return [*sources, *application_topics(settings, STAGED.name), *finals_topics(settings, PUBLISHED), *outputs]


class FoldStaged:
    """The one agent of this worker."""

    @staticmethod
    def define(settings: Settings) -> TaskDefinition:
        return definition(settings, more=os.environ.get(MORE) == "more")

    @staticmethod
    def attach(app: FlagfallApp, table: SourceTable) -> Any:
        @app.agent(app.topic(*table.definition.topics, schema=BatchSchema()), name="agents.fold_staged")
        async def fold_staged(stream: Any) -> None:
            async for event in stream.noack().events():
                table.offer(event)


def create(settings: Settings) -> FlagfallApp:
    return create_worker(settings, (FoldStaged(),), every_stage_topics(settings))


app = create(Settings.load()) if os.environ.get(MORE) else None

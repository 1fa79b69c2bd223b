"""A worker with a second task group beside the rides: `faust -A tests.support.apps.two_sources`.

The second source has the rides' record, one topic, two views, and nothing else in common with them.
"""

from __future__ import annotations

from dataclasses import replace

from agents.fold import Fold
from app.base.kafka.topic import Topic
from app.base.settings import Settings
from app.domain.source import SourceTopic
from app.edge.worker import create_worker
from app.engine.drive.faust_parts.app import FlagfallApp
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VENDOR_TRIPS, ZONE_DEMAND
from app.topics import topics

POOLED_TOPIC = "pooled.rides"
POOLED = replace(RIDES, number=2, name="pooled", topics=(SourceTopic(100, POOLED_TOPIC),))
POOLED_VIEWS = (
    replace(ZONE_DEMAND, number=100, name="pooled_demand", source=POOLED),
    replace(VENDOR_TRIPS, number=101, name="pooled_trips", source=POOLED),
)


BOTH = SHIPPED.extended([POOLED], POOLED_VIEWS)


def two_sources_topics(settings: Settings) -> list[Topic]:
    """What the rides need, and the second source's own."""
    return list(topics(settings, BOTH))


def create(settings: Settings) -> FlagfallApp:
    """The worker of both."""
    return create_worker(settings, [Fold(group) for group in BOTH.groups], two_sources_topics(settings))


app = create(Settings.load())

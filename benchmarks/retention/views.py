"""Views that keep three days: of every kind of group and window whose rows end."""

from __future__ import annotations

from app.base.settings import Settings
from app.domain.measures.kinds import Count, Max, Sum
from app.domain.view import Group, View
from app.domain.windows.contract import Window
from app.domain.windows.session import Session
from app.domain.windows.tumbling import Tumbling
from app.engine.core.definition import TaskDefinition
from app.rides.ride import RIDES

GRACE_SECONDS = 6 * 3600
"""Longer than any generated ride."""
RETENTION_DAYS = 3


def _view(number: int, name: str, group: Group, window: Window) -> View:
    measures = (Count("rides"), Sum("fare_cents", "fare_cents"), Max("longest_us", "duration_us"))
    retention_seconds = RETENTION_DAYS * 86_400
    return View(number, name, RIDES, (group,), window, measures, GRACE_SECONDS, retention_seconds, "Of the benchmark.")


VIEWS = (
    _view(921, "zone_panes", Group("zone", "pickup_zone"), Tumbling("pickup_at_us", 300)),
    _view(922, "ride_days", Group("ride", "ride_id"), Tumbling("pickup_at_us", 86_400)),
    _view(923, "zone_bursts", Group("zone", "pickup_zone"), Session("pickup_at_us", 600)),
)
"""Numbers; a text of its own for each row, so that the dictionary turns over; sessions."""


def define(settings: Settings) -> TaskDefinition:
    """The task group of the benched worker."""
    return TaskDefinition(settings.app_id, (RIDES,), VIEWS)

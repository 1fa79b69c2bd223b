"""What flagfall brings, by its settings; a definition file adds to it."""

from __future__ import annotations

from dataclasses import replace

from app.base.settings import Settings
from app.domain.catalogue import Catalogue, TaskGroup
from app.rides.branches import AMOUNTS
from app.rides.lifecycle.pairing import FARED_STARTS, LONG_RIDES
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.lifecycle.views import LIFE_VIEWS
from app.rides.ride import RIDES
from app.rides.views import CLEANLINESS, VIEWS

OWN_SOURCES = (RIDES, RIDE_EVENTS, FARES)
"""Sources whose records and schemas are ours."""

SHIPPED = Catalogue((TaskGroup((RIDES,), VIEWS),))
"""What is there whatever the settings say."""


def shipped(settings: Settings) -> Catalogue:
    """The rides; and, where the settings switch them on, their branches, how clean they are, and the life cycles."""
    (rides,) = SHIPPED.groups
    views = (*rides.views, CLEANLINESS) if settings.cleanliness else rides.views
    rides = replace(rides, views=views, branches=(AMOUNTS,) if settings.branches else ())
    lives = TaskGroup((RIDE_EVENTS, FARES), LIFE_VIEWS, joins=(FARED_STARTS,), alerts=(LONG_RIDES,))
    return Catalogue((rides, lives) if settings.lifecycle else (rides,))

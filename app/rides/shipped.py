"""What flagfall brings, by its settings; a definition file adds to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from app.base.settings import Settings
from app.domain.catalogue import Catalogue, TaskGroup
from app.rides.branches import AMOUNTS
from app.rides.lifecycle.pairing import FARED, FARED_STARTS, LONG_RIDES
from app.rides.lifecycle.questions import FARED_QUESTIONS, LIFE_QUESTIONS
from app.rides.lifecycle.sources import FARES, RIDE_EVENTS
from app.rides.lifecycle.views import LIFE_VIEWS
from app.rides.questions import QUESTIONS
from app.rides.ride import RIDES
from app.rides.views import CLEANLINESS, VIEWS


class Brought(NamedTuple):
    """Sources of ours that share tasks, with all that is over them whatever the settings say.

    `is_on`: whether they are there at all; None for always. `with_options`: what the settings add.
    """

    group: TaskGroup
    is_on: Callable[[Settings], bool] | None = None
    with_options: Callable[[Settings, TaskGroup], TaskGroup] = lambda settings, group: group


def _with_ride_options(settings: Settings, rides: TaskGroup) -> TaskGroup:
    """Branches, how clean rides are, and more questions, where they are switched on."""
    views = (*rides.views, CLEANLINESS) if settings.cleanliness else rides.views
    views = (*views, *QUESTIONS) if settings.questions else views
    return replace(rides, views=views, branches=(AMOUNTS,) if settings.branches else ())


def _with_life_questions(settings: Settings, lives: TaskGroup) -> TaskGroup:
    return replace(lives, views=(*lives.views, *LIFE_QUESTIONS)) if settings.questions else lives


LIVES = TaskGroup((RIDE_EVENTS, FARES), LIFE_VIEWS, joins=(FARED_STARTS,), alerts=(LONG_RIDES,))
SOURCES = (
    Brought(TaskGroup((RIDES,), VIEWS), with_options=_with_ride_options),
    Brought(LIVES, is_on=lambda settings: settings.lifecycle, with_options=_with_life_questions),
    Brought(TaskGroup((FARED,), FARED_QUESTIONS), is_on=lambda settings: settings.lifecycle and settings.questions),
)
"""One line for each: topics, schemas, tables, HTTP, page, status, Spark and the reconciliation follow."""

OWN_SOURCES = tuple(source for brought in SOURCES for source in brought.group.sources)
"""Sources whose records and schemas are ours."""

SWITCHES = ("lifecycle", "branches", "cleanliness", "questions")
"""The settings that add sources and views."""

SHIPPED = Catalogue(tuple(brought.group for brought in SOURCES if brought.is_on is None))
"""What is there whatever the settings say."""


def shipped(settings: Settings) -> Catalogue:
    """The sources that are switched on, with their options."""
    there = (brought for brought in SOURCES if brought.is_on is None or brought.is_on(settings))
    return Catalogue(tuple(brought.with_options(settings, brought.group) for brought in there))


def everything(settings: Settings) -> Catalogue:
    """What is there when all is switched on: its numbers and names are never another's, so that it can be."""
    return shipped(settings.model_copy(update=dict.fromkeys(SWITCHES, True)))

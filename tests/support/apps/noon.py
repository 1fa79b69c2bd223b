"""A worker over the rides whose rules another release changed: `faust -A tests.support.apps.noon worker`.

`FLAGFALL_TEST_RELEASE` says which: "morning" is as declared; "noon" gives no grace and bears no skew; "evening" gives
more of both than the morning.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple

from agents.fold import Fold
from app.base.settings import Settings
from app.domain.catalogue import TaskGroup
from app.domain.view import View
from app.edge.worker import create_worker
from app.engine.drive.faust_parts.app import FlagfallApp
from app.rides.ride import RIDES
from app.rides.shipped import SHIPPED
from app.rides.views import VIEWS
from app.topics import needed_topics

RELEASE = "FLAGFALL_TEST_RELEASE"


class Rules(NamedTuple):
    grace_seconds: int
    skew_seconds: int


RULES = {
    "morning": Rules(3 * 3600, RIDES.skew_seconds),
    "noon": Rules(0, 0),
    "evening": Rules(6 * 3600, 3600),
}


def views_of(release: str) -> tuple[View, ...]:
    """The rides' views as a release has them."""
    rules = RULES[release]
    source = replace(RIDES, skew_seconds=rules.skew_seconds)
    return tuple(
        replace(
            view, source=source, grace_seconds=rules.grace_seconds if view in SHIPPED.finals else view.grace_seconds
        )
        for view in VIEWS
    )


def create(settings: Settings) -> FlagfallApp:
    """The worker of a release."""
    views = views_of(os.environ[RELEASE])
    return create_worker(settings, (Fold(TaskGroup((views[0].source,), views)),), needed_topics(settings))


app = create(Settings.load()) if RELEASE in os.environ else None

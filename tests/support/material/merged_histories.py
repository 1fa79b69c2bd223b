"""Simulated histories whose views publish finals of rows that merge: groups in several tasks, all closed at the end."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from app.domain.view import Group, View
from app.domain.windows.session import Session
from app.engine.core.results import closing, merging, open_rows
from app.testkit.checks import refusals
from app.testkit.simulation import script
from app.testkit.simulation.parcels import MINUTE_US, PARCELS, ROUNDS
from app.testkit.simulation.samples import START_US
from app.testkit.simulation.script import Script
from app.testkit.simulation.steps import Deploy, Request
from tests.support.material.visits import Visits, known

BRISK = replace(
    ROUNDS,
    number=40,
    name="brisk",
    window=Session("scanned_at_us", 240),
    grace_seconds=60,
    retention_seconds=0,
    groups=(),
)
SLOW = replace(
    ROUNDS,
    number=41,
    name="slow",
    window=Visits("delivered_at_us", 3600),
    grace_seconds=600,
    groups=(Group("hub", "hub"), Group("carrier", "carrier")),
)
MERGING: tuple[View, ...] = (ROUNDS, BRISK, SLOW)
MOST_IN_A_STEP = (1, 2, 5_000)


class _Drawing(script._Drawing):
    """With nothing but such views."""

    def __post_init__(self) -> None:
        super().__post_init__()
        apart = random.Random(f"merged {self.seed}")
        self.partitions = apart.choice((2, 2, 3))
        self.views = tuple(apart.sample(MERGING, apart.choice((1, 2))))
        self.finals, self.correctable = tuple(view.name for view in self.views), []
        self.receipts, self.joins, self.alerts, self.deploys = False, (), (), False
        self.topics = {topic.name: PARCELS for topic in PARCELS.topics}
        self.places = [script.TopicPartition(topic, p) for topic in self.topics for p in range(self.partitions)]
        self.far_us = START_US + apart.choice((120, 300, 3000)) * MINUTE_US


def merged_history(seed: int) -> Script:
    """At its end every watermark is raised beyond most of its records."""
    drawing = _Drawing(seed)
    drawn = drawing.script()
    assert not any(isinstance(step, Deploy) for step in drawn.steps)
    ends = (Request(place, drawing.far_us, None) for place in drawing.places)
    return replace(drawn, steps=(*drawn.steps, *ends))


@contextmanager
def in_steps_of(most: int) -> Iterator[pytest.MonkeyPatch]:
    """As long as it lasts, so many rows are told, closed, published and forgotten at once."""
    with known(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(script, "ALL_VIEWS", (*script.ALL_VIEWS, BRISK, SLOW))
        patch.setattr(refusals, "ALL_VIEWS", (*refusals.ALL_VIEWS, BRISK, SLOW))
        patch.setattr(closing, "CLOSED_ROWS", most)
        patch.setattr(merging, "FINALS", most)
        patch.setattr(open_rows, "TOLD_ROWS", most)
        patch.setattr(open_rows, "OVERTAKEN_ROWS", most)
        yield patch

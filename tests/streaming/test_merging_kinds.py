"""Histories with another kind of window that merges: corrected, expired, taken over and shown as sessions are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.testkit.checks import corrections, refusals
from app.testkit.harness import Harness
from app.testkit.history import run_script
from app.testkit.simulation import script
from app.testkit.simulation.parcels import MINUTE_US, ROUNDS
from app.testkit.simulation.samples import START_US
from app.testkit.simulation.script import draw_script
from tests.support.material.parcel import AIR, parcel
from tests.support.material.visits import Visits, known

VISITS = replace(ROUNDS, window=Visits("delivered_at_us", 600))
MOST_SEEDS, HISTORIES = 400, 25
COUNTED = ("applied", "late", "quarantined", "finals", "finals that merged", "views closed", "views expired")
"""What hangs on no order of things: which task publishes a group's finals is another with another tag."""


@pytest.fixture(autouse=True)
def visits_are_known() -> Iterator[None]:
    with known():
        yield


def test_histories_with_another_kind_that_merges_end_as_those_with_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = [seed for seed in range(MOST_SEEDS) if ROUNDS in draw_script(seed).views][:HISTORIES]
    of_sessions = [run_script(draw_script(seed)) for seed in seeds]
    for room in (script, corrections, refusals):
        for views in {"PARCEL_VIEWS", "ALL_VIEWS", "WITH_FINALS"} & vars(room).keys():
            monkeypatch.setattr(room, views, tuple(VISITS if view is ROUNDS else view for view in vars(room)[views]))
    assert all(VISITS in draw_script(seed).views for seed in seeds)
    of_visits = [run_script(draw_script(seed)) for seed in seeds]
    assert [ended.problems for ended in (*of_sessions, *of_visits)] == [[]] * 2 * len(seeds)
    for session, visit in zip(of_sessions, of_visits, strict=True):
        assert [session.tally[what] for what in COUNTED] == [visit.tally[what] for what in COUNTED]


def test_a_row_is_shown_with_its_end_as_its_kind_calls_it() -> None:
    """Also where the rows of two tasks are one."""
    shown = []
    for view in (ROUNDS, VISITS):
        kit = Harness(views=[view], partitions=2)
        for minute in (0, 9, 5):
            kit.send(AIR, parcel(0, delivered_at_us=START_US + minute * MINUTE_US), partition=minute % 2)
        shown += kit.rows(view)
    session, visit = shown
    assert visit.pop("left_at_us") == session.pop("session_end_us") == START_US + 9 * MINUTE_US
    assert visit == session

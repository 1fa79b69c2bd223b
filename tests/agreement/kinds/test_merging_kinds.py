"""A kind of window that merges needs its class and its kernel alone: another beside sessions gives what they give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.oracle.view_fold import fold
from app.domain.rows import end_of
from app.engine.core.definition import TaskDefinition
from app.engine.core.restore import Restorer
from app.engine.core.task import TaskCore
from app.rides.ride import RIDES
from tests.support.material.visits import Visits, as_session, known
from tests.support.tasks.batches import as_batches
from tests.support.tasks.cores import rows_of
from tests.support.tasks.staged_core import core_of
from tests.support.tasks.stages import SHIFTS, play, two_logs

VISITS = replace(SHIFTS, number=56, name="visits", window=Visits("pickup_at_us", 1800))
BOTH = TaskDefinition("app", (RIDES,), (SHIFTS, VISITS))


@pytest.fixture(autouse=True, scope="module")
def visits_are_known() -> Iterator[None]:
    with known():
        yield


@given(seed=st.integers(0, 2**32))
def test_rows_of_another_kind_that_merges_are_the_sessions_in_worker_and_fold(seed: int) -> None:
    """They leave the table when those do."""
    rng = random.Random(seed)
    logs, core = two_logs(rng), core_of(BOTH)
    play(core, logs, rng)
    visits = rows_of(core, VISITS)
    assert {key: as_session(VISITS, cells) for key, cells in visits.items()} == rows_of(core, SHIFTS)
    folded = fold(VISITS, [record for log in logs for record in log.records])
    to_us = core.state.marker.views["visits"].expired_to_us
    assert visits == {
        key: cells for key, cells in folded.rows[0].items() if to_us is None or end_of(VISITS, key, cells) > to_us
    }


@given(seed=st.integers(0, 2**32))
def test_another_kind_that_merges_is_restored_and_goes_on_as_sessions_do(seed: int) -> None:
    rng = random.Random(seed)
    before, after = two_logs(rng)
    core = core_of(BOTH)
    written = [record for done in play(core, [before], rng) for record in done.changelog]
    restorer = Restorer(BOTH)
    for batch in as_batches(written, rng):
        restorer.read(batch)
    restored = TaskCore(BOTH, restorer.finish(core_of(BOTH).state.marker.inputs, 0))
    for one in (core, restored):
        play(one, [after], random.Random(seed))
    for view in BOTH.views:
        assert rows_of(restored, view) == rows_of(core, view)

"""A fail-point is off unless named, fires once, at the passing asked for, and refuses what it does not know."""

from __future__ import annotations

import pytest

from app.base.settings import SettingsError
from app.engine.drive import failpoints
from app.engine.drive.failpoints import BATCH_TAKEN, TRANSACTION_SENT, Failpoint, FailpointReached


def test_nothing_is_armed_without_the_variable() -> None:
    assert failpoints._armed is None
    for name in failpoints.NAMES:
        assert not failpoints.is_due(name)
        failpoints.reached(name)


def test_it_fires_once_at_the_passing_asked_for() -> None:
    armed = Failpoint.parse(f"{BATCH_TAKEN}:raise:3")
    armed.reached(BATCH_TAKEN)
    armed.reached(TRANSACTION_SENT)
    assert not armed.is_due(BATCH_TAKEN)
    armed.reached(BATCH_TAKEN)
    assert armed.is_due(BATCH_TAKEN)
    with pytest.raises(FailpointReached, match=BATCH_TAKEN):
        armed.reached(BATCH_TAKEN)
    armed.reached(BATCH_TAKEN)
    assert not armed.is_due(BATCH_TAKEN)


def test_without_a_passing_it_is_the_first() -> None:
    assert Failpoint.parse(f"{BATCH_TAKEN}:kill") == Failpoint(BATCH_TAKEN, "kill", 1)


@pytest.mark.parametrize(
    "text", ["", "batch-taken", "nowhere:kill", "batch-taken:explode", "batch-taken:kill:0", "batch-taken:kill:1:1"]
)
def test_what_it_does_not_know_is_refused_in_words(text: str) -> None:
    with pytest.raises(SettingsError, match=r"expected NAME:ACTION\[:PASSING\] with a name of task-fencing"):
        Failpoint.parse(text)

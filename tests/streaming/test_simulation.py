"""Tasks over a simulated log, through crashes, zombies, rebalances and compaction, end as the naive fold says."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from app.testkit.cluster import until_idle
from app.testkit.history import EndedHistory, run_script
from app.testkit.simulate import failure_text
from app.testkit.simulation.script import draw_script
from app.testkit.simulation.steps import Deploy, NewRules, Widen
from tests.support.mutants.catalogue import Plant, plants

HISTORIES = 200
SLICES = 10
MOST_SEEDS = 600
"""Histories in which a planted fault must have been seen at the latest."""
ROUNDS_OF_THE_LOST = 5_000
"""Histories that end need two hundred: a fault that keeps tasks busy for ever is seen in seconds."""


@pytest.fixture
def first_seed(pytestconfig: pytest.Config) -> int:
    """The run's own, which pytest prints; `make simulate` runs more of them."""
    return int(pytestconfig.getoption("hypothesis_seed"))


@cache
def ended(seed: int) -> EndedHistory:
    """How the history of a seed ends: two tests ask, whichever is first."""
    return run_script(draw_script(seed))


@pytest.mark.parametrize("part", range(SLICES))
def test_every_history_ends_as_the_naive_fold_says(part: int, first_seed: int) -> None:
    for seed in range(first_seed + part, first_seed + HISTORIES, SLICES):
        if ended(seed).problems:
            pytest.fail(failure_text(draw_script(seed)), pytrace=False)


def test_the_histories_went_where_it_hurts(first_seed: int) -> None:
    """A simulation in which nothing happens would pass, too."""
    tally = sum((ended(seed).tally for seed in range(first_seed, first_seed + HISTORIES)), Counter[str]())
    assert HISTORIES < 100 or all(
        tally[what]
        for what in (
            "workers fenced",
            "killed in a transaction",
            "late",
            "quarantined",
            "joined",
            "unmatched",
            "branched",
            "alerts",
            "views closed",
            "finals that merged",
            "views expired",
            "graces changed",
            "windows kept closed",
            "skews changed",
            "tasks added",
        )
    ), tally


@pytest.mark.parametrize(("fault", "plant"), plants().items(), ids=plants().keys())
def test_a_planted_fault_is_seen(fault: str, plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = map(draw_script, range(MOST_SEEDS))
    plant(monkeypatch)
    monkeypatch.setattr(until_idle, "MOST_ROUNDS", ROUNDS_OF_THE_LOST)
    needs = {
        "halves": lambda script: script.receipts,
        "alert": lambda script: script.alerts,
        "skew": lambda script: {Deploy, NewRules} <= {type(step) for step in script.steps},
        "added": lambda script: any(isinstance(step, Widen) for step in script.steps),
        "rules": lambda script: any(isinstance(step, NewRules) for step in script.steps),
    }
    fitting = (script for script in scripts if all(need(script) for what, need in needs.items() if what in fault))
    assert any(run_script(script).problems for script in fitting), fault

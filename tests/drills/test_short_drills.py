"""Two kinds of fault on real parts, in their short form, judged by the figures alone. All of them: `make drill`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.drills.catalogue import DRILLS
from tests.drills.run import run_drill
from tests.drills.world.brokers import Brokers
from tests.support.machine.waiting import NotInTime

SEEDS = {"kill": 1, "zombie": 2}


@pytest.mark.parametrize(("name", "seed"), SEEDS.items())
def test_figures_are_exact_after(name: str, seed: int, broker: Brokers, tmp_path: Path) -> None:
    drill = DRILLS[name]
    facts = run_drill(drill, broker, seed, drill.size(short=True), tmp_path / "run")
    told = f"make drill DRILL={name} SEED={seed}\n{json.dumps(facts, indent=2)}"
    if facts["verdict"] == "not in time":
        raise NotInTime(told)
    assert facts["verdict"] == "exact", told

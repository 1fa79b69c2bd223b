"""Two kinds of fault on real parts, in their short form, judged by the figures alone. All of them: `make drill`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.drills.catalogue import DRILLS, IN_THE_GATE
from tests.drills.run import run_drill
from tests.support.clusters.brokers import Brokers
from tests.support.machine.waiting import NotInTime


@pytest.mark.parametrize(("name", "seed"), IN_THE_GATE.items())
def test_figures_are_exact_after(name: str, seed: int, broker: Brokers, tmp_path: Path) -> None:
    drill = DRILLS[name]
    facts = run_drill(drill, broker, seed, drill.size(short=True), tmp_path / "run")
    if facts["verdict"] != "exact":
        fault = NotInTime if facts["verdict"] == "not in time" else AssertionError
        raise fault(in_words(facts))


def in_words(facts: dict[str, Any]) -> str:
    """What came of a drill: first the cause, as the gate shows the first line, then what repeats it."""
    cause, *_ = facts["differences"][0].splitlines()
    again = f".venv/bin/python -m tests.drills {facts['drill']} --short --seed {facts['seed']}"
    return f"{cause}\n{again}\n{json.dumps(facts, indent=2)}"

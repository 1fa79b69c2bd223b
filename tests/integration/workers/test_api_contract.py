"""Whatever the API document allows, and much that it does not, is answered as it says: schemathesis asks a worker."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from app.base.kafka.topic_admin import create_topics
from app.base.setting_groups import HttpSettings
from app.base.settings import Settings
from app.topics import topics
from tests.support.machine.cluster import write_rides
from tests.support.machine.waiting import wait_for
from tests.support.machine.world import covers, ready_worker

RIDES = 400
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
OPTIONS = ("--generation-deterministic", "--max-examples", "10", "--no-color")
RULES = """
request-timeout = 60

[checks]
positive_data_acceptance.enabled = false

[[operations]]
include-path-regex = "/changes$"
request-timeout = 1
"""
"""A schema cannot say which parameters do not go together (`from` and `last`), nor which partitions and positions there
are just now: such requests are refused as 400. Changes never end."""


def test_schemathesis_finds_nothing(world: Settings, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(RULES)
    taking = world.model_copy(update={"http": HttpSettings(intake=True)})
    create_topics(taking.kafka, topics(taking))
    write_rides(world, 0, RIDES)
    with ready_worker(world, tmp_path, FLAGFALL_HTTP_INTAKE="true") as running:
        wait_for(lambda: covers(world, running), "all rides are read", [running])
        paths = running.get("/openapi.json").json()["paths"]
        command = (SCHEMATHESIS, "run", f"{running.url}/openapi.json", *OPTIONS)
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=500, check=False)
    assert run.returncode == 0, run.stdout
    told = dict(re.findall(r"(Selected|Tested): +(\S+)", run.stdout))
    asked = len(paths) - 1  # it leaves the document's own address out
    assert told == {"Selected": f"{asked}/{asked}", "Tested": str(asked)}, run.stdout

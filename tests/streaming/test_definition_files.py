"""Views of a definition file, in the worker's own core: exact through late, unusable and restarted."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from app.definitions.read import read_definitions
from app.domain.oracle.view_fold import fold
from app.domain.records import Record
from app.domain.view import View
from app.rides.shipped import SHIPPED
from app.testkit.harness import Harness
from tests.support.material.bike_trips import EXAMPLE, TOPIC, trips

ROOT = EXAMPLE.parents[1]
FENCED = re.compile(r"^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
BIKES = read_definitions(EXAMPLE, SHIPPED).group("bike_trips")


@pytest.mark.parametrize("view", BIKES.views, ids=lambda view: view.name)
def test_a_view_of_the_file_equals_the_plain_fold_of_its_topic(view: View) -> None:
    names = [column.name for column in BIKES.sources[0].columns]
    sent = [{name: trip[name] for name in names} for trip in trips(400, seed=3)]
    worker = Harness([view], finals=[view] if view in BIKES.finals else [])
    for begin in range(0, len(sent), 90):
        worker.send_all(TOPIC, sent[begin : begin + 90])
        worker.restart(compact=True)
    records = [Record(TOPIC, 0, i, trip["ended_at_us"] // 1000, trip) for i, trip in enumerate(sent)]
    expected = fold(view, records)
    assert worker.cells(view) == expected.rows[0]
    assert len(worker.late) == len(expected.late)
    reasons = Counter(told.reason for told in worker.quarantined)
    assert reasons == {"out_of_bounds:price_cents": sum(trip["price_cents"] > 100_000 for trip in sent)}
    if view in BIKES.finals:
        assert worker.late
        assert worker.finals(view)


def test_the_example_of_the_page_passes(tmp_path: Path) -> None:
    (code,) = FENCED.findall((ROOT / "docs" / "definitions.md").read_text("utf-8"))
    file = tmp_path / "test_bikes.py"
    file.write_text(code, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, file]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert ran.returncode == 0, ran.stdout + ran.stderr

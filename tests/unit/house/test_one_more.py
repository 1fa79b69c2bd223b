"""Whoever adds a view, a source or a format of rows adds its lines, and mends no test that was written before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
FILES = (
    "base/kafka/test_demands.py",
    "core/test_task_core.py",
    "domain/test_catalogue.py",
    "domain/test_proposed_losses.py",
    "domain/test_refused_records.py",
    "drive/faust_parts/test_source_table.py",
    "http/formats/test_added_format.py",
    "http/test_http_query.py",
    "rides/test_pace.py",
    "tasks/test_runner_batches.py",
)
"""Those that once knew how many of something there are: all of the level with one more would cost a minute."""

MORE = ("more_tumbling", "more_session", "more_hopping", "more_calendar", "scooter_trips", "more_format")


def test_one_more_of_each_breaks_nothing() -> None:
    """In a process of its own: registries are read as modules are imported."""
    plugins = ("-p", "no:cacheprovider", "-p", "tests.support.one_more")
    files = [str(CHECKOUT / "tests" / "unit" / name) for name in FILES]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--tb=short", *plugins, *files],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert all(repr(name) in done.stdout for name in MORE), done.stdout[:3000] + done.stderr[-3000:]
    assert done.returncode == 0, done.stdout[-6000:]

"""A run for which the machine has too little says what, instead of what Java says."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from app.base.files.verdicts import LastVerdicts, Verdict
from app.base.kafka.topic_admin import create_topics
from app.base.settings import Settings
from app.rides.ride import RIDES
from app.topics import source_topics
from tests.support.machine.waiting import patient
from tests.support.material.stored.exports import never_exporting


@pytest.mark.parametrize(
    ("limit", "most", "told"),
    [(resource.RLIMIT_NOFILE, 64, "Spark failed: java."), (resource.RLIMIT_FSIZE, 200 << 10, "File too large")],
)
def test_a_limit_that_java_meets_is_told_and_is_no_verdict_on_the_figures(
    limit: int, most: int, told: str, services: Settings, tmp_path: Path
) -> None:
    create_topics(services.kafka, source_topics(services, RIDES))
    settings, runs = services.model_copy(update={"data_dir": tmp_path}), tmp_path / "runs"
    with never_exporting() as (url, _):
        ran = subprocess.run(
            [sys.executable, "-m", "app.edge.cli.main", "reconcile", "--worker", url, "--output", str(runs)],
            env=os.environ | settings.environment(),
            preexec_fn=partial(resource.setrlimit, limit, (most, most)),
            capture_output=True,
            text=True,
            timeout=patient(120),
            check=False,
        )
    assert (ran.returncode, "Traceback" in ran.stderr) == (Verdict.INCONCLUSIVE.exit_code, False), ran.stderr
    views = LastVerdicts(runs, settings.app_id).read().values()
    assert views
    assert all(told in str(one.finished and one.finished.reason) for one in views)

"""A run for which Spark has too little memory says so, instead of what Java says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from app.base.settings import Settings
from tests.support.machine.waiting import patient

RUN = """
import sys
from pathlib import Path
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings
from spark_batch.errors import Inconclusive
from spark_batch.session import spark_session

folder = Path(sys.argv[1])
jars = fetch("spark", Settings.load().cache_dir)
try:
    with spark_session(jars, folder, folder / "log", java_home=find_java().home, cores=2, memory_mb=512) as spark:
        spark.range(1).selectExpr("size(sequence(1, 200000000 + id))").collect()
except Inconclusive as error:
    print(error)
"""
"""In a process of its own: it has but one Spark, which is the other tests'."""


def test_what_java_cannot_hold_is_told_with_the_setting_and_the_session_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    ran = subprocess.run(
        command,
        env=os.environ | Settings.load().environment(),
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr
    assert ran.stdout.startswith("Spark had too little memory in 512 MB: give it more with FLAGFALL_SPARK_MEMORY_MB")

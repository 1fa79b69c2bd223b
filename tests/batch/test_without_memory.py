"""A run that breaks off, for want of memory or another reason, says why, and nothing that Java or PySpark would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.base.settings import Settings
from tests.support.machine.waiting import patient

RUN = """
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from app.base.services.jars import fetch
from app.base.services.java import find_java
from app.base.settings import Settings
from spark_batch.errors import Inconclusive
from spark_batch.java_end import java
from spark_batch.session import spark_session


def unread(port):
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()]
    return any(line[1].endswith(f":{port:04X}") and not line[4].endswith(":00000000") for line in lines)


def kill_once_asked(port):
    while not unread(port):
        time.sleep(0.01)
    java().kill()  # it has read nothing of it: its end resets the connection


folder = Path(sys.argv[1])
jars = fetch("spark", Settings.load().cache_dir)
try:
    with spark_session(jars, folder, folder / "log", java_home=find_java().home, cores=2, memory_mb=512) as spark:
        spark.range(9).mapInArrow(lambda rows: rows, "id long").collect()  # Java tells Python of what it has counted
        if sys.argv[2] == "memory":
            spark.range(1).selectExpr("size(sequence(1, 200000000 + id))").collect()
        if sys.argv[2] == "a question":
            port = spark.sparkContext._gateway.gateway_parameters.port
            java().send_signal(signal.SIGSTOP)
            Thread(target=kill_once_asked, args=(port,)).start()
            spark.range(9).count()
        raise Inconclusive("a worker is gone")
except Inconclusive as error:
    print(error)
time.sleep(1)  # what a thread prints when Java is gone, it has printed by then
"""
"""In a process of its own: it has but one Spark, which is the other tests'."""


@pytest.mark.parametrize(
    ("why", "said"),
    [
        ("memory", "Spark had too little memory in 512 MB: give it more with FLAGFALL_SPARK_MEMORY_MB"),
        ("a worker", "a worker is gone"),
        ("a question", "Spark's Java process ended by signal 9"),
    ],
)
def test_a_run_that_breaks_off_says_why_and_nothing_else(tmp_path: Path, why: str, said: str) -> None:
    command = [sys.executable, "-c", RUN, str(tmp_path), why]
    ran = subprocess.run(
        command,
        env=os.environ | Settings.load().environment(),
        capture_output=True,
        text=True,
        timeout=patient(120),
        check=False,
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr
    assert ran.stdout.startswith(said)

"""What the gate finds on the machine: how fast it is, what else runs here, which variables would leak in."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping

LEAST_PATIENCE = 2.0
MOST_PATIENCE = 8.0
USUAL_LOOP_SECONDS = 0.1
"""`_loop_seconds` on the machine that the tests' limits were chosen on, idle."""
LOOPS = 3
MOST_LANES = 3
"""More wait for the two processors that the gate is made for; with fewer these wait for brokers and workers."""
LANE_BYTES = 4_000_000_000
"""A broker, a registry, a Spark and some workers, all of them busy: 3 GB. The rest is the machine's."""
KEPT = ("FLAGFALL_CACHE_DIR",)
"""Where the jars are: no test depends on it."""
STRANGERS = re.compile(r"kafka\.Kafka|apicurio|SparkSubmit|flagfall\S* (worker|demo|up)|faust .*worker|\bpytest\b")


def patience() -> float:
    """By how much the tests' waits are stretched: twice what an idle machine needs, more where this one is slow."""
    slowness = min(_loop_seconds() for _ in range(LOOPS)) / USUAL_LOOP_SECONDS
    return round(min(MOST_PATIENCE, max(LEAST_PATIENCE, LEAST_PATIENCE * slowness)), 1)


def lanes(memory_bytes: int | None = None) -> int:
    """How many processes the tests are spread over, each with services of its own: as many as memory holds."""
    held = memory_bytes or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(MOST_LANES, held // LANE_BYTES))


def environment_of_tests(environ: Mapping[str, str], patience: float) -> dict[str, str]:
    """The environment without what changes the product or the tests, and with the patience that they get."""
    ours = {name: value for name, value in environ.items() if not _leaks(name)}
    return ours | {"FLAGFALL_TEST_PATIENCE": str(patience)}


def strangers() -> list[str]:
    """Brokers, workers, Spark jobs and test runs that are here already, a line each; they share the processors."""
    listed = subprocess.run(["ps", "-eo", "pid=,etimes=,pcpu=,args="], capture_output=True, text=True, check=False)
    ours = {str(os.getpid()), str(os.getppid())}
    lines = [line.strip() for line in listed.stdout.splitlines()]
    return [line[:140] for line in lines if STRANGERS.search(line) and line.split()[0] not in ours]


def _leaks(name: str) -> bool:
    if name.startswith("FLAGFALL_"):
        return name not in KEPT and not name.startswith("FLAGFALL_TEST_")
    return name.upper().endswith("_PROXY") or name in {"PYTEST_ADDOPTS", "PYTHONPATH", "HYPOTHESIS_PROFILE"}


def _loop_seconds() -> float:
    began = time.perf_counter()
    total = 0
    for i in range(2_000_000):
        total += i & 3
    return time.perf_counter() - began

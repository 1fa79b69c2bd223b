"""What the gate finds on the machine: how fast it is, what else runs here, which variables would leak in.

Tests clean their own environment by the same rule (`tests/conftest.py`).
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import time
from collections.abc import Mapping

PATIENCE_VARIABLE = "FLAGFALL_TEST_PATIENCE"
LIMIT_VARIABLE = "FLAGFALL_TEST_LIMIT_MINUTES"
"""What the whole gate may take, where somebody ends it then."""
SLOW_SHARE = 0.7
"""Of these minutes: slow tests that have not begun by then are left out. The rest is for those that run, and for the
many fast ones, which take three times their five minutes on the slowest machine seen."""
LEAST_ASKED = 0.1
LEAST_PATIENCE = 2.0
MOST_PATIENCE = 8.0
USUAL_LOOP_SECONDS = 0.1
"""`_loop_seconds` on the machine that the tests' limits were chosen on, idle."""
LOOPS = 3
MOST_LANES = 3
"""More wait for the two processors that the gate is made for; with fewer these wait for brokers and workers."""
LANE_BYTES = 4_000_000_000
"""A broker, a registry, a Spark and some workers, all of them busy: 3 GB. The rest is the machine's."""
KEPT = (
    "FLAGFALL_CACHE_DIR",  # where the jars are: no test depends on it
    *(f"FLAGFALL_TEST_{name}" for name in ("ALL_FAULTS", "LANES", "PATIENCE", "PICTURES", "TLC_DATA")),
)
LEAKING = re.compile(
    r"FLAGFALL_|FAUST_|MODE_"  # the product's settings, and those of what it is made of
    r"|PYTHON\w|NUMBA_|POLARS_|PYSPARK_|SPARK_|HADOOP_|KAFKA_|CLASSPATH$|(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS$"
    r"|PYTEST_|HYPOTHESIS_|(GNU)?MAKEFLAGS$|MFLAGS$|MAKEOVERRIDES$|MAKELEVEL$"
    r"|TERM$|COLUMNS$|LINES$|(NO|FORCE|PY)_?COLORS?$|CLICOLOR|TTY_"
)
"""Variables that change what is tested, how, or what a program prints. PYTHONOPTIMIZE would leave assertions out."""
STRANGERS = re.compile(r"kafka\.Kafka|apicurio|SparkSubmit|flagfall\S* (worker|demo|up)|faust .*worker|\bpytest\b")


def patience() -> float:
    """By how much the tests' waits are stretched: twice what an idle machine needs, more where this one is slow."""
    slowness = min(_loop_seconds() for _ in range(LOOPS)) / USUAL_LOOP_SECONDS
    return round(min(MOST_PATIENCE, max(LEAST_PATIENCE, LEAST_PATIENCE * slowness)), 1)


def patience_of(told: str | None) -> float:
    """The factor that the variable's text says. SystemExit in words if it says none."""
    try:
        factor = float(told or 1)
    except ValueError:
        factor = math.nan
    if not (math.isfinite(factor) and factor >= LEAST_ASKED):
        raise SystemExit(f"{PATIENCE_VARIABLE} is {told!r}: a number from {LEAST_ASKED} is wanted")
    return factor


def slow_until(told: str | None, now: float) -> list[str]:
    """What says to pytest when slow tests may no longer begin, if a gate that begins now has a limit.

    `told`: the variable's text, of a gate without limit None. SystemExit in words if it is no limit.
    """
    if not told:
        return []
    try:
        minutes = float(told)
    except ValueError:
        minutes = math.nan
    if not (math.isfinite(minutes) and minutes > 0):
        raise SystemExit(f"{LIMIT_VARIABLE} is {told!r}: a number of minutes above 0 is wanted")
    return [f"--slow-until={now + SLOW_SHARE * minutes * 60:.0f}"]


def lanes(memory_bytes: int | None = None) -> int:
    """How many processes the tests are spread over, each with services of its own: as many as memory holds."""
    held = memory_bytes or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(MOST_LANES, held // LANE_BYTES))


def environment_of_stages(environ: Mapping[str, str], *, asks_outside: bool) -> dict[str, str]:
    """The environment without what changes the product or the tests; proxies are for those who ask the outside."""
    return {name: value for name, value in environ.items() if not leaks(name) and (asks_outside or not is_proxy(name))}


def environment_of_tests(environ: Mapping[str, str], patience: float) -> dict[str, str]:
    """The same, with the patience that they get."""
    return environment_of_stages(environ, asks_outside=False) | {PATIENCE_VARIABLE: str(patience)}


def strangers() -> list[str]:
    """Brokers, workers, Spark jobs and test runs that are here already, a line each; they share the processors."""
    try:
        listed = subprocess.run(["ps", "-eo", "pid=,etimes=,pcpu=,args="], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ["nobody can tell: there is no `ps`"]
    ours = {str(os.getpid()), str(os.getppid())}
    lines = [line.strip() for line in listed.stdout.splitlines()]
    return [line[:140] for line in lines if STRANGERS.search(line) and line.split()[0] not in ours]


def leaks(name: str) -> bool:
    """Whether tests must not see the variable."""
    return name not in KEPT and LEAKING.match(name) is not None


def is_proxy(name: str) -> bool:
    return name.upper().endswith("_PROXY")


def _loop_seconds() -> float:
    began = time.perf_counter()
    total = 0
    for i in range(2_000_000):
        total += i & 3
    return time.perf_counter() - began

"""Fixtures and settings of every test level."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from scripts.gate.machine import is_proxy, leaks
from tests.support.machine.waiting import PATIENCE
from tests.support.told import FACTS, Teller, facts_of

SEED = "hypothesis_seed"
GATE_SEED = "20261122"
"""The gate judges the code, so nothing in it is drawn anew: `make laws` and `make simulate` draw."""
SLOW_LEVELS = ("end_to_end", "batch", "integration", "browser", "drills")
"""Besides what needs Spark: half an hour of them on an idle machine, where all others take five minutes. They run from
the last to the first, as the first have the longest tests: a gate that must leave out some leaves out few."""
LEVELS = ("unit", "laws", "agreement", "streaming", *SLOW_LEVELS)
LEFT_OUT = "left out for want of time, as this machine is slow: `make check` runs them"
TESTS = Path(__file__).parent
REAL_DATA_VARIABLE = "FLAGFALL_TEST_TLC_DATA"
REAL_DATA_BESIDE = TESTS.parent.parent / "shared" / "data"
EXAMPLES = 60
LIGHT_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Of every Java process that a test starts: each lives a minute, which is no time to compile well in."""

# Said in full, and loaded whatever CI says: with CI set, Hypothesis puts settings of its own in the place of defaults.
COMMON = settings(
    deadline=None, print_blob=True, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow], database=None
)
settings.register_profile("gate", COMMON, derandomize=True)
settings.register_profile("drawn", COMMON, derandomize=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flagfall")
    group.addoption("--told", type=Path, help="append what the gate wants to know of each test to this file")
    group.addoption("--slow-until", type=float, help="skip slow tests that have not begun at this time of time.time()")
    group.addoption("--reverse", action="store_true", help="run the tests in the opposite order")


for name in [name for name in os.environ if is_proxy(name) or leaks(name)]:
    if not name.startswith(("PYTEST_", "PYTHON")):  # pytest's own; and where a checkout's modules are
        del os.environ[name]
os.environ["JDK_JAVA_OPTIONS"] = LIGHT_JAVA
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # as a shell without job control has it in what it puts in the background, and so would all have that tests start
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Fixed examples and seeds, unless a seed is asked for: then everything is drawn from that."""
    if sys.flags.optimize:
        raise pytest.UsageError("without assertions no test can fail: unset PYTHONOPTIMIZE")
    asked = config.getoption(SEED, None)
    settings.load_profile("gate" if asked in (None, GATE_SEED) else "drawn")
    config.option.hypothesis_seed = asked or GATE_SEED
    if (told := config.getoption("--told")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Teller(told))


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.getoption(SEED)
    drawn = f"drawn from seed {seed}" if seed != GATE_SEED else "the same every time, whatever CI says"
    return [
        f"examples: {EXAMPLES} a law, {drawn} (others: make laws SEEDS=n)",
        f"patience: {PATIENCE} (FLAGFALL_TEST_PATIENCE)",
        f"real TLC data: {_real_data() or 'none'}",
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test's level is its folder. Several processes begin with the slow levels: none shall end alone with them."""
    for item in items:
        item.add_marker(_level(item))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: LEVELS.index(_level(item)), reverse=True)
    if config.getoption("--reverse"):
        items.reverse()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    until: float | None = item.config.getoption("--slow-until")
    if until is not None and time.time() > until and _is_slow(item):
        pytest.skip(LEFT_OUT)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and call.excinfo is not None:
        facts = facts_of(_level(item), call.excinfo.value, call.excinfo.exconly())
        report.user_properties.append((FACTS, facts))
    return report


def _level(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


def _is_slow(item: pytest.Item) -> bool:
    return _level(item) in SLOW_LEVELS or item.get_closest_marker("spark") is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _real_data() is None:
        terminalreporter.write_line(
            f"Tests on real TLC files did not run: set {REAL_DATA_VARIABLE} to a directory of them.",
            yellow=True,
        )


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The directory of real TLC files (yellow/, green/, fhv/, hvfhv/); skips where there is none."""
    found = _real_data()
    if found is None:
        pytest.skip(f"no real TLC files: set {REAL_DATA_VARIABLE} to a directory of them")
    return found


@pytest.fixture(scope="session")
def zone_shapes() -> Path | None:
    """TLC's shapes of the zones, where they are."""
    found = _real_data()
    shapes = None if found is None else found / "zones" / "taxi_zones.geojson"
    return shapes if shapes and shapes.is_file() else None


def _real_data() -> Path | None:
    named = os.environ.get(REAL_DATA_VARIABLE)
    folder = Path(named) if named else REAL_DATA_BESIDE
    return folder if folder.is_dir() else None

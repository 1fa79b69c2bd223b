"""Settings of all tests: levels by folder, seeds that are printed, real data that says when it is missing."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

SEED = "hypothesis_seed"
LEVELS = ("unit", "laws", "agreement", "streaming", "integration", "batch", "end_to_end", "browser", "drills")
TESTS = Path(__file__).parent
REAL_DATA_VARIABLE = "FLAGFALL_TEST_TLC_DATA"
REAL_DATA_BESIDE = TESTS.parent.parent / "shared" / "data"
"""Files of the TLC in a directory that checkouts beside each other share."""

settings.register_profile("fast", deadline=None, print_blob=True, max_examples=40)
settings.register_profile("ci", deadline=None, print_blob=True, max_examples=60)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_configure(config: pytest.Config) -> None:
    """Give Hypothesis a seed of ours where none was asked for: one that can be printed."""
    if config.getoption(SEED, None) is None:
        told = getattr(config, "workerinput", {}).get(SEED)
        config.option.hypothesis_seed = told or str(random.SystemRandom().getrandbits(32))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """One seed for all processes of a run on several (`pytest -n 2`): they draw the same tests."""
    node.workerinput[SEED] = node.config.getoption(SEED)


def pytest_report_header(config: pytest.Config) -> list[str]:
    seed = config.getoption(SEED)
    return [
        f"seed: {seed} (again: pytest --hypothesis-seed={seed})",
        f"real TLC data: {_real_data() or 'none'}",
    ]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test's level is its folder. Several processes begin with the slow levels: none shall end alone with them."""
    for item in items:
        item.add_marker(_level(item))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: LEVELS.index(_level(item)), reverse=True)


def _level(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


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


def _real_data() -> Path | None:
    named = os.environ.get(REAL_DATA_VARIABLE)
    folder = Path(named) if named else REAL_DATA_BESIDE
    return folder if folder.is_dir() else None

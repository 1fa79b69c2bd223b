"""A plugin for a child pytest: `--numba BOUNDSCHECK` or `--numba DISABLE_JIT`, and that it takes effect.

pytest -p tests.support.machine.numba_mode --numba BOUNDSCHECK --numba-cache DIR tests/unit/codecs

Set here, not by whoever starts the child: `tests/conftest.py` takes all `NUMBA_*` out of the environment.
"""

from __future__ import annotations

import os
import sys
from inspect import isfunction
from pathlib import Path

import pytest
from hypothesis import settings

MODES = ("BOUNDSCHECK", "DISABLE_JIT")
EXAMPLES = 5
"""A law's: a loop as Python is a hundred times slower."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("flagfall")
    group.addoption("--numba", choices=MODES, required=True, help="how the loops run: bounds checked, or as Python")
    group.addoption("--numba-cache", type=Path, required=True, help="the code of one mode would be taken in another")


@pytest.hookimpl(trylast=True)  # behind tests/conftest.py, which loads its own profile
def pytest_configure(config: pytest.Config) -> None:
    settings.register_profile("few", settings.get_profile("gate"), max_examples=EXAMPLES)
    settings.load_profile("few")
    if "numba" in sys.modules:
        raise pytest.UsageError("numba is loaded already, and has read its settings")
    os.environ["NUMBA_CACHE_DIR"] = str(config.getoption("--numba-cache"))
    os.environ[f"NUMBA_{config.getoption('--numba')}"] = "1"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Before the first test: an error here ends the run as failed."""
    mode = session.config.getoption("--numba")
    if (wrong := without_effect(mode)) is not None:
        raise pytest.UsageError(f"NUMBA_{mode}=1 has no effect: {wrong}")


def without_effect(mode: str) -> str | None:
    """What shows that loops run otherwise in this process; None if they run in the mode."""
    import numba
    import numpy as np

    from app.codecs.batches.record_walk import walk

    if not getattr(numba.config, mode):
        return "numba's own setting is off"
    if isfunction(walk) is not (mode == "DISABLE_JIT"):
        return f"a loop is a {type(walk).__name__}"
    one_record = np.array([[1, 0, 0, 0, 0]])
    try:
        read = walk(np.empty(0, np.uint8), np.array([9]), np.array([1]), one_record, 0, np.empty((1, 9), np.int64))
    except IndexError:
        return None
    return f"a loop that reads behind its bytes gives {read}"

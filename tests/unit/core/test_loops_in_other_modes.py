"""The compiled loops give the same with their bounds checked and as plain Python: their own tests, run again so.

Compiled without checks, as workers have them, a loop that reads or writes beside its arrays may do so unseen.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machine.numba_mode import MODES, without_effect
from tests.support.machine.waiting import patient

ROOT = Path(__file__).parents[3]
LIMIT_SECONDS = 250
ABOUT_LOOPS = (
    "agreement/test_decoding.py",
    "agreement/test_pairing.py",
    "agreement/test_worker_and_oracle.py",
    "agreement/kinds/test_merging_kinds.py",
    "agreement/kinds/test_window_kinds.py",
    "laws/test_fingerprint.py",
    "laws/test_key_hash.py",
    "laws/test_written_records.py",
    "streaming/test_simulation.py::test_every_history_ends_as_the_naive_fold_says[0]",
    "unit/codecs/cells",
    "unit/codecs/test_blobs.py",
    "unit/codecs/test_changelog_codec.py",
    "unit/codecs/test_halves_codec.py",
    "unit/codecs/test_record_batches.py",
    "unit/core/test_chains.py",
    "unit/core/test_halves.py",
    "unit/core/test_open_rows.py",
    "unit/core/test_state_removal.py",
    "unit/core/test_texts.py",
)
"""Decoders, views, sessions and panes, joins and alerts, record batches, changelog records, what finds rows, sessions,
texts and halves, and simulated histories."""
TOO_LARGE = ("test_a_million_keys_are_found_and_no_other", "test_memory_comes_back_when_rows_go")
"""For loops as Python."""


@pytest.mark.parametrize("mode", MODES)
def test_loops_pass_their_tests(mode: str, tmp_path: Path) -> None:
    """What is not in effect is an error of the child (`tests/support/machine/numba_mode.py`)."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.support.machine.numba_mode"]
    command += ["--numba", mode, "--numba-cache", str(tmp_path / "loops"), "--basetemp", str(tmp_path / "child")]
    command += ["-k", " and ".join(f"not {name}" for name in TOO_LARGE)]
    command += [str(ROOT / "tests" / path) for path in ABOUT_LOOPS]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=patient(LIMIT_SECONDS))
    assert ran.returncode == 0, f"{ran.stdout[-20_000:]}{ran.stderr[-5_000:]}"


@pytest.mark.parametrize("mode", MODES)
def test_a_mode_that_is_not_set_is_told_to_be_without_effect(mode: str) -> None:
    """As in this process, in which loops run as workers have them."""
    assert without_effect(mode) is not None

"""What the commands of the Makefile tell of seeds and settings, which a quiet pytest keeps to itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
READY = ".venv/.ready"


def test_laws_that_are_drawn_say_their_seed_and_how_to_run_them_again(tmp_path: Path) -> None:
    said = made(tmp_path, "laws", "SEED=7")
    assert said.splitlines()[0] == "seed 7; again: make laws SEED=7"
    assert "--hypothesis-seed=7" in said


def test_seeds_are_as_many_as_asked_for(tmp_path: Path) -> None:
    said = made(tmp_path, "laws", "SEEDS=3").splitlines()
    seeds = [line.split()[1].rstrip(";") for line in said if line.startswith("seed ")]
    assert len(set(seeds)) == 3
    assert [line.split("=")[-1] for line in said if "--hypothesis-seed" in line] == seeds


def test_the_fast_tests_show_what_pytest_says_of_examples_and_patience(tmp_path: Path) -> None:
    assert "-q" not in made(tmp_path, "test-fast").split()


def made(folder: Path, *words: str) -> str:
    """What make prints, with a pytest that prints its arguments."""
    pytest = folder / "pytest"
    pytest.write_text('#!/bin/sh\necho "$@"\n')
    pytest.chmod(0o755)
    command = ["make", "--silent", "--old-file", READY, f"BIN={folder}", *words]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout

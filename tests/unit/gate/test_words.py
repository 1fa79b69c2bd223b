"""The lines that a gate ends with."""

from __future__ import annotations

import json
from pathlib import Path

from scripts.gate.verdict import Failure, read_told
from scripts.gate.words import (
    FIRST_LINES,
    LAST_LINES,
    LINES,
    broken_off,
    excerpt,
    nothing_ran,
    red_lines,
    skipped_lines,
)


def test_the_last_words_of_a_red_run_fit_the_screen_and_name_the_command() -> None:
    failures = [Failure(f"tests/unit/test_x.py::test_{i}", "first line\nsecond line", False) for i in range(50)]
    lines = red_lines(failures, 2.0)
    assert len(lines) <= LINES
    assert lines[:3] == [
        "  tests/unit/test_x.py::test_0",
        "    first line",
        "    again: FLAGFALL_TEST_PATIENCE=2.0 .venv/bin/pytest 'tests/unit/test_x.py::test_0'",
    ]
    assert lines[-1].startswith("  and ")


def test_skipped_tests_are_counted_by_their_reasons() -> None:
    skipped = [{"test": name, "event": "skipped", "reason": reason} for name, reason in zip("abc", "xyx", strict=True)]
    found = read_told(json.dumps(event) for event in ({"event": "collected", "tests": 4}, *skipped))
    assert skipped_lines(found) == ["gate: 2 of 4 tests were skipped: x", "gate: 1 of 4 tests were skipped: y"]


def test_of_a_long_log_the_beginning_and_the_end_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "lint.log"
    log.write_text("".join(f"line {i}\n" for i in range(100)))
    lines = excerpt(log)
    assert lines[FIRST_LINES - 1 : FIRST_LINES + 2] == ["line 7", "  ... 80 lines more ...", "line 88"]
    assert lines[-2:] == ["line 99", f"  all of it: {log}"]
    assert len(lines) == FIRST_LINES + LAST_LINES + 2


def test_a_short_log_is_shown_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "lint.log"
    log.write_text("".join(f"line {i}\n" for i in range(FIRST_LINES + LAST_LINES)))
    assert excerpt(log) == [*log.read_text().splitlines(), f"  all of it: {log}"]


def test_where_no_test_failed_the_log_says_why_the_run_is_red(tmp_path: Path) -> None:
    (tmp_path / "tests.log").write_text("ERROR: file or directory not found: tests/nowhere\n")
    lines = broken_off(read_told([]), 4, tmp_path)
    assert lines[0] == "  0 of ? tests ran to their end; pytest ended with 4"
    assert "ERROR: file or directory not found: tests/nowhere" in lines


def test_of_a_run_that_was_stopped_nobody_says_how_it_ended(tmp_path: Path) -> None:
    told = read_told(
        json.dumps(event) for event in ({"event": "collected", "tests": 2}, {"event": "began", "test": "t"})
    )
    assert broken_off(told, None, tmp_path) == ["  0 of 2 tests ran to their end", "  still running at the end: t"]


def test_where_nothing_ran_the_command_that_says_why_is_named() -> None:
    """In lanes pytest does not: a path that is not there is "0 items"."""
    assert nothing_ran(read_told([]), ["-m", "no such"]) == [
        "  why nothing ran: .venv/bin/pytest --collect-only -qq -m 'no such'"
    ]
    ended = read_told([json.dumps({"event": "ended", "test": "t"})])
    assert nothing_ran(ended, []) == []

"""The table of the drills' last results."""

from __future__ import annotations

from typing import Any

from tests.drills.results import HEAD, table_of_last


def run(drill: str, series: int, seed: int, verdict: str = "exact", *, short: bool = True) -> dict[str, Any]:
    told = {"drill": drill, "series": series, "seed": seed, "verdict": verdict, "short": short}
    return told | {"seconds": 10.0, "commit": "abc"}


def test_the_last_series_of_each_drill_is_shown_and_what_was_never_run_is_said() -> None:
    runs = [run("kill", 1, 11), run("kill", 2, 21), run("zombie", 3, 31), run("kill", 2, 22, "differs")]
    assert table_of_last(runs, ["kill", "zombie", "term"]).splitlines() == [
        *HEAD,
        "| `kill` short | 1 of 2 | 10 | abc | 21, 22 |",
        "| `zombie` short | 1 of 1 | 10 | abc | 31 |",
        "| `term` | not run | | | |",
    ]


def test_the_long_form_has_a_line_of_its_own() -> None:
    runs = [run("kill", 1, 11), run("kill", 2, 21, short=False)]
    assert table_of_last(runs, ["kill"]).splitlines()[2:] == [
        "| `kill` short | 1 of 1 | 10 | abc | 11 |",
        "| `kill` | 1 of 1 | 10 | abc | 21 |",
    ]

"""A failing history is made small, and written so that it can be seen again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from app.testkit.history import run_script
from app.testkit.simulate import failure_text, main
from app.testkit.simulation.script import Script, draw_script
from app.testkit.simulation.shrink import Kept, read_selection, selected, selection_text, shrink
from app.testkit.simulation.steps import Kill, Produce
from tests.support.mutants.catalogue import plants

SAMPLES = st.none() | st.lists(st.integers(0, 9), min_size=1, unique=True).map(lambda each: tuple(sorted(each)))
SELECTIONS = st.dictionaries(st.integers(0, 60), SAMPLES, min_size=1).map(
    lambda chosen: tuple(Kept(number, chosen[number]) for number in sorted(chosen))
)

PRODUCES, OTHER = (
    next(number for number, step in enumerate(draw_script(7).steps) if isinstance(step, Produce) is produces)
    for produces in (True, False)
)


@given(selection=SELECTIONS)
def test_a_selection_is_read_as_it_was_written(selection: tuple[Kept, ...]) -> None:
    assert read_selection(selection_text(selection)) == selection


def test_a_selection_is_short() -> None:
    kept = (Kept(0), Kept(4), Kept(5), Kept(6), Kept(9, (0, 2)))
    assert selection_text(kept) == "0,4-6,9:0+2"


def test_what_has_no_part_in_a_failure_is_left_out() -> None:
    """Here a history fails if a worker is killed after a certain record."""
    script = draw_script(3)
    steps = (*script.steps, Kill("w1"), *script.steps)
    script = replace(script, steps=steps)
    wanted = next(step for step in steps if isinstance(step, Produce)).samples[-1]

    def fails(shorter: Script) -> bool:
        seen = False
        for step in shorter.steps:
            seen = seen or (isinstance(step, Produce) and wanted in step.samples)
            if isinstance(step, Kill) and seen:
                return True
        return False

    small = selected(script, shrink(script, fails))
    assert [type(step) for step in small.steps] == [Produce, Kill]
    assert small.steps[0].samples == (wanted,)  # type: ignore[union-attr]


def test_a_failure_is_told_in_few_steps_and_with_the_command_that_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plants()["apply_late_records"](monkeypatch)
    seed = next(seed for seed in range(100) if run_script(draw_script(seed)).problems)
    told = failure_text(draw_script(seed)).splitlines()
    *_, command = told
    assert command.startswith(f"again: python -m app.testkit.simulate --seed {seed} --only ")
    again = CliRunner().invoke(main, command.removeprefix("again: python -m app.testkit.simulate ").split())
    assert again.exit_code == 1
    assert [line for line in told if line.startswith("wrong:")] == [
        line for line in again.output.splitlines() if line.startswith("wrong:")
    ]


def test_a_history_is_the_same_each_time_it_is_drawn() -> None:
    assert draw_script(11) == draw_script(11)
    assert draw_script(11) != draw_script(12)


def test_histories_that_end_well_say_how_many_and_how_fast() -> None:
    told = CliRunner().invoke(main, ["--seed", "3", "--seeds", "2"])
    assert told.exit_code == 0
    assert told.output.startswith("2 histories from seed 3, 0 failed;")


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("abc", "'abc' is none of 4, 4-6, and 9:0+2"),
        ("3:x", "'3:x' is none of"),
        ("4-", "'4-' is none of"),
        (",", "'' is none of"),
        ("3-1", "'3-1' ends before it begins"),
        ("9999", "step 9999: seed 7 has"),
        ("0-99:0", "'0-99:0' is none of"),
        (f"{PRODUCES}:99", f"{PRODUCES}:99: step {PRODUCES} of seed 7 has"),
        (f"{PRODUCES}:-1", f"{PRODUCES}:-1: step {PRODUCES} of seed 7 has"),
        (f"{OTHER}:0", f"{OTHER}:0: step {OTHER} of seed 7 has 0 records"),
    ],
)
def test_a_selection_that_selects_nothing_is_refused_in_words(only: str, said: str) -> None:
    told = CliRunner().invoke(main, ["--seed", "7", "--only", only])
    assert told.exit_code == 2
    assert said in told.output

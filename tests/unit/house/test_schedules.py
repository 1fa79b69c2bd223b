"""What docs/schedules would run every night is a command that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from app.edge.cli.main import cli

SCHEDULES = sorted((Path(__file__).parents[3] / "docs" / "schedules").iterdir())
IN_A_LINE = re.compile(r"^(?!#).*flagfall (reconcile[a-z \-]*)", re.MULTILINE)
IN_A_PROGRAM = re.compile(r"\[\"flagfall\", .*?\]")


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda path: str(path.name))
def test_a_schedule_runs_what_the_command_takes(schedule: Path) -> None:
    run = _runs(schedule.read_text())
    assert run or schedule.suffix == ".timer"
    for name, *options in run:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        command.make_context(name, options)


def _runs(text: str) -> list[list[str]]:
    """All that is run there, without `flagfall` before it."""
    return [
        *(found.split() for found in IN_A_LINE.findall(text)),
        *(ast.literal_eval(found)[1:] for found in IN_A_PROGRAM.findall(text)),
    ]

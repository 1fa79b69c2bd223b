"""The prompt for statements, as one who types meets it."""

from __future__ import annotations

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from app.domain.errors import FlagfallError
from app.edge.cli.tables.sql_prompt import SqlPrompt, is_whole

VIEWS = [
    {"name": "zone_demand", "help": "Rides by zone.", "groups": [{"name": "zone"}], "measures": [{"name": "rides"}]}
]
CTRL_C, CTRL_D = "\x03", "\x04"


def asked(typed: str) -> list[str]:
    """The statements that are asked when this is typed."""
    statements: list[str] = []
    with create_pipe_input() as terminal:
        terminal.send_text(typed)
        SqlPrompt(VIEWS, statements.append).run(terminal, DummyOutput())
    return statements


@pytest.mark.parametrize(
    ("typed", "statements"),
    [
        ("SELECT 1;\r" + CTRL_D, ["SELECT 1"]),
        ("SELECT\r1\r;\r" + CTRL_D, ["SELECT\n1"]),
        ("SELECT" + CTRL_C + "FROM b;\r.quit\r", ["FROM b"]),
        ("\r \r.tables\r.nothing\rexit\r", []),
    ],
    ids=["one line", "several", "begun anew", "no statement"],
)
def test_a_statement_ends_with_a_semicolon_and_is_asked_then(typed: str, statements: list[str]) -> None:
    assert asked(typed) == statements


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("FROM zone_d", ["zone_demand"]),
        ("FROM zones", ["zones"]),
        ("select RI", ["rides"]),
        ("SELECT window_", ["window_end", "window_start"]),
    ],
)
def test_names_of_tables_and_columns_are_offered(typed: str, offered: list[str]) -> None:
    completions = SqlPrompt(VIEWS, print).completer.get_completions(Document(typed), CompleteEvent())
    assert [one.text for one in completions] == offered


def test_tables_are_listed_and_what_is_no_command_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    asked(".tables\r.table\r" + CTRL_D)
    printed = capsys.readouterr()
    assert "zone_demand  Rides by zone." in printed.out
    assert "zones        Zones by number" in printed.out
    assert printed.err.count("Ctrl-D leaves") == 2


@pytest.mark.parametrize("typed", ["help\r", "HELP;\r", ".help\r"])
def test_who_asks_for_help_is_told(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(typed + CTRL_D) == []
    assert capsys.readouterr().err.count("Ctrl-D leaves") == 2


@pytest.mark.parametrize("typed", ["quit", "EXIT", "quit;", ".exit"])
def test_who_wants_to_leave_leaves(typed: str) -> None:
    assert asked(f"{typed}\rFROM a;\r{CTRL_D}") == []


def test_after_a_refusal_or_an_interruption_the_prompt_is_there_again(capsys: pytest.CaptureFixture[str]) -> None:
    statements: list[str] = []
    failures = iter([FlagfallError("no such table"), KeyboardInterrupt()])

    def answer(text: str) -> None:
        statements.append(text)
        if (failure := next(failures, None)) is not None:
            raise failure

    with create_pipe_input() as terminal:
        terminal.send_text("FROM a;\rFROM b;\rFROM c;\r" + CTRL_D)
        SqlPrompt(VIEWS, answer).run(terminal, DummyOutput())
    assert statements == ["FROM a", "FROM b", "FROM c"]
    told = capsys.readouterr().err
    assert "no such table" in told
    assert "interrupted" in told


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("SELECT", False),
        ("SELECT 1; ", True),
        (".x", True),
        ("help", True),
        ("SELECT\nhelp", False),
    ],
)
def test_enter_asks_what_is_whole(text: str, whole: bool) -> None:
    assert is_whole(text) is whole

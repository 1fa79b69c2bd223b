"""What a page tells to type can be typed: commands and options, variables, addresses, tests and their names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from app.base.settings import known_variables
from app.edge.cli.main import cli
from app.edge.http.routes.every_route import ROUTES

CHECKOUT = Path(__file__).parents[4]
DOCS = CHECKOUT / "docs"
PAGES = [
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted([*DOCS.glob("*.md"), *DOCS.glob("coming-from/*.md")]),
]

CODE = re.compile(r"^ {4}.+$|`([^`\n]+)`", re.MULTILINE)
VARIABLE = re.compile(r"\bFLAGFALL_[A-Z_]*[A-Z]\b")
ADDRESS = re.compile(r"/v1/[\w{}/.-]*[\w}]")
FOR_TESTS = "FLAGFALL_TEST_"


def _name(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


pages = pytest.mark.parametrize("page", PAGES, ids=_name)


@pages
def test_commands_and_options_that_a_page_tells_exist(page: Path) -> None:
    assert [wrong for words in typed(page.read_text("utf-8"), "flagfall") for wrong in unknown(words)] == []


@pages
def test_variables_that_a_page_names_are_read(page: Path) -> None:
    named = set(VARIABLE.findall(page.read_text("utf-8")))
    assert {name for name in named - known_variables() if not name.startswith(FOR_TESTS)} == set()


@pages
def test_addresses_that_a_page_names_are_served(page: Path) -> None:
    served = [re.compile(re.sub(r"\{\w+\}", "[^/]+", route.path)) for route in ROUTES]
    named = ADDRESS.findall(page.read_text("utf-8"))
    assert [address for address in named if not any(one.fullmatch(address) for one in served)] == []


@pages
def test_tests_that_a_page_tells_to_run_are_there(page: Path) -> None:
    assert [wrong for words in typed(page.read_text("utf-8"), ".venv/bin/pytest") for wrong in not_there(words)] == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("`flagfall worker -l debug`", ["worker -l"]),
        ("    flagfall topics create && flagfall topic create   # as one", ["topic"]),
        ("    FLAGFALL_LIFECYCLE=true flagfall services ups", ["services ups"]),
        ("`flagfall query zone_demand --zone=3 --views`", ["query --views"]),
        ("```\nflagfall demos\n```", ["demos"]),
        ("flagfall works, and flagfall worker -l too", []),
    ],
)
def test_a_command_that_does_not_exist_is_seen(text: str, wrong: list[str]) -> None:
    assert [told for words in typed(text, "flagfall") for told in unknown(words)] == wrong


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        ("tests/unit/domain/test_view.py -k hopping", ["-k hopping"]),
        ("tests/unit/domain/test_sight.py", ["tests/unit/domain/test_sight.py"]),
        ("-m streaming", []),
        ("tests/unit/domain/test_view.py::test_bins_belong_to_the_version", []),
        ("tests/unit/domain/test_view.py::test_bins", ["tests/unit/domain/test_view.py::test_bins"]),
    ],
)
def test_a_test_that_is_not_there_is_seen(told: str, wrong: list[str]) -> None:
    assert list(not_there(told.split())) == wrong


def typed(text: str, program: str) -> Iterator[list[str]]:
    """What follows the program's name, word by word, wherever the text's code has it as a command."""
    for code in written_as_code(text):
        for command in re.split(r"&&|[;|&#]", code):
            try:
                words = shlex.split(command)
            except ValueError:  # a quotation mark of a sentence
                words = command.split()
            while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
                words = words[1:]
            if words and words[0] == program:
                yield words[1:]


def written_as_code(text: str) -> Iterator[str]:
    """Lines between fences and indented ones, and what stands between backticks."""
    for at, piece in enumerate(text.split("```")):
        if at % 2:
            yield from piece.splitlines()
        else:
            yield from (found[1] or found[0] for found in CODE.finditer(piece))


def unknown(words: list[str]) -> Iterator[str]:
    """Commands and options of such a line that flagfall does not have."""
    command: click.Command = cli
    way: list[str] = []
    options = {"-h", "--help"}
    for word in words:
        if isinstance(command, click.Group) and not word.startswith("-"):
            way.append(word)
            found = command.get_command(click.Context(command), word)
            if found is None:
                yield " ".join(way)
                return
            command = found
        options |= {spelled for known in command.params for spelled in (*known.opts, *known.secondary_opts)}
        if re.match(r"--?[a-z]", word) and word.split("=")[0] not in options:
            yield " ".join([*way, word])


def not_there(words: list[str]) -> Iterator[str]:
    """Files, tests and words of names that such a line of pytest asks for in vain."""
    names: list[str] = []
    for at, word in enumerate(words):
        path, _, test = word.partition("::")
        if path.startswith("tests/"):
            file = CHECKOUT / path
            names += re.findall(r"def (test_\w+)", file.read_text("utf-8")) if file.is_file() else []
            if not file.exists() or (test and not test.endswith("…") and test.split("[")[0] not in names):
                yield word
        if word == "-k" and not any(words[at + 1] in name for name in names):
            yield f"-k {words[at + 1]}"

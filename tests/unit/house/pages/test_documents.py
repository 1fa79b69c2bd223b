"""What documents and code say of each other: numbers of rules, names of files, commands of make, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from app.base.settings import Settings
from app.domain.windows.kinds import KINDS
from app.rides.shipped import everything

CHECKOUT = Path(__file__).parents[4]
CODE = [
    path
    for folder in ("app", "agents", "tables", "spark_batch", "tests", "scripts", "benchmarks")
    for path in sorted((CHECKOUT / folder).rglob("*.py"))
]
PAGES = [CHECKOUT / "README.md", CHECKOUT / "CONTRIBUTING.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
HISTORY = CHECKOUT / "docs" / "decisions"
"""What was decided names what was there at the time."""

RULE = re.compile(r"\*\*(\d+)\. ")
CITED = re.compile(r"\b[Rr]ules? (\d+(?:(?:, | and )\d+)*)")
NAMED = re.compile(
    r"`((?:app|agents|tables|spark_batch|tests|docs|scripts|benchmarks)/[\w/.{},-]+\.\w+|docs/decisions/\d{4})`"
)
MODULE = re.compile(r"`(\w+\.py)`")
OWN_MODULE = re.compile(r"^# (\w+\.py)$", re.MULTILINE)
"""Of a page: the code that it shows, by name."""
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
MAKE = re.compile(r"(?:`|^ {4})make ((?:[a-z-]+ ?)+)", re.MULTILINE)


def _name(path: Path) -> str:
    return str(path.relative_to(CHECKOUT))


def test_rules_stand_in_the_order_of_their_numbers() -> None:
    numbers = [int(found) for found in RULE.findall((CHECKOUT / "docs" / "rules.md").read_text())]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_rule_that_is_cited_exists() -> None:
    there = set(RULE.findall((CHECKOUT / "docs" / "rules.md").read_text()))
    cited = {
        f"{_name(path)}: {number}"
        for path in (*CODE, *PAGES)
        for found in CITED.findall(path.read_text())
        for number in re.findall(r"\d+", found)
        if number not in there
    }
    assert cited == set()


def test_pages_say_which_numbers_are_taken() -> None:
    all_on = everything(Settings())
    sources = max(source.number for source in all_on.given)
    topics = max(topic.number for source in all_on.given for topic in source.topics)
    views = max(view.number for view in all_on.views)
    contributing, definitions = ((CHECKOUT / name).read_text() for name in ("CONTRIBUTING.md", "docs/definitions.md"))
    taken = sources, topics, views
    assert "sources 1 to {0}, views 1 to {2}, topics 1 to {1}".format(*taken) in contributing
    assert re.findall(r"(?:has|have) 1 to (\d+)\b", definitions) == [str(number) for number in taken]


def test_every_kind_of_window_has_its_tag_and_its_meaning_on_a_page() -> None:
    formats, rules = ((CHECKOUT / "docs" / name).read_text() for name in ("formats.md", "rules.md"))
    (told,) = re.findall(r"window kind u8 \(([^)]+)\)", formats)
    kinds = sorted(KINDS.values(), key=lambda kind: kind.tag)
    assert told == ", ".join(f"{kind.tag} {kind.key.replace('_', ' ')}" for kind in kinds)
    assert [kind.__name__ for kind in kinds if f"| `{kind.__name__}(" not in rules] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != HISTORY], ids=_name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    missing = [name for found in NAMED.findall(page.read_text()) for name in _spelled_out(found) if not _exists(name)]
    assert missing == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent != HISTORY], ids=_name)
def test_modules_that_a_page_names_without_their_place_are_there(page: Path) -> None:
    text = page.read_text()
    there = {path.name for path in CODE} | set(OWN_MODULE.findall(text))
    assert set(MODULE.findall(text)) - there == set()


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    assert [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


def test_commands_of_make_that_a_page_names_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (_name(page), word) for page in PAGES for found in MAKE.findall(page.read_text()) for word in found.split()
    }
    assert {(page, word) for page, word in named if word not in targets and not word.startswith("-")} == set()


def test_what_runs_before_a_commit_is_what_the_gate_runs() -> None:
    hooks = yaml.safe_load((CHECKOUT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"] for hook in hooks] == ["make format", "make lint", "make types", "make imports"]


def _spelled_out(name: str) -> Iterator[str]:
    """`a/{b,c}.py` as a/b.py and a/c.py."""
    braces = re.search(r"\{([^}]*)\}", name)
    if braces is None:
        yield name
        return
    for choice in braces[1].split(","):
        yield name[: braces.start()] + choice + name[braces.end() :]


def _exists(name: str) -> bool:
    return bool(list(CHECKOUT.glob(f"{name}*")))

"""One name means one thing: no two modules of what is installed define a public name of the same sort, and prose names
what is there."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from app.base.settings import known_variables

CHECKOUT = Path(__file__).parents[3]
FOLDERS = ("app", "agents", "tables", "spark_batch")
NAMED = re.compile(r"`+([A-Za-z_][\w.]*)(?:\(\))?`+")
OF_OTHERS = frozenset({"Expect", "PULocationID", "PUlocationID", "finally"})
"""A header of HTTP, two columns of TLC, a word of Python."""


def test_no_two_modules_define_a_class_or_type_of_the_same_name() -> None:
    """Whoever reads `Standing` must not have to look up which."""
    places = defaultdict(list)
    for folder in FOLDERS:
        for path in sorted((CHECKOUT / folder).rglob("*.py")):
            for name in types_of(path.read_text("utf-8")):
                places[name].append(str(path.relative_to(CHECKOUT)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("class Standing: ...", ["Standing"]),
        ("Place = tuple[str, int]", ["Place"]),
        ("Answer = TypeVar('Answer', bound=int)", []),
        ("MOST = 3\nmost = 3\nclass _Own: ...\n_Kept = int", []),
        ("def made():\n    class Inner: ...", []),
        ("class Outer:\n    class Inner: ...", ["Outer"]),
    ],
)
def test_a_module_has_the_types_that_it_says_at_its_top(text: str, names: list[str]) -> None:
    assert list(types_of(text)) == names


def test_what_docstrings_name_is_there() -> None:
    texts = {path: path.read_text("utf-8") for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*.py")}
    known = OF_OTHERS | known_variables()
    known |= {part for path in texts for part in path.relative_to(CHECKOUT).with_suffix("").parts}
    known |= {name for text in texts.values() for name in identifiers(text)}
    gone = {f"{path.relative_to(CHECKOUT)}: {name}" for path, text in texts.items() for name in unknown(text, known)}
    assert gone == set()


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ('"""`Waiting` holds it."""\nclass WaitingBatches: ...', ["Waiting"]),
        ('MOST = 3\n"""As `walk.LEAST` of ``most``."""\nwalk = most = 1', ["walk.LEAST"]),
        ('def made(of: int) -> None:\n    """What `of` makes, by `made()`: `of + 1`."""', []),
    ],
)
def test_a_name_that_nothing_has_is_seen(text: str, gone: list[str]) -> None:
    assert list(unknown(text, set(identifiers(text)))) == gone


def unknown(text: str, known: Collection[str]) -> Iterator[str]:
    """Names between backticks, in prose, of which a part is not known."""
    for node in ast.walk(ast.parse(text)):
        if prose := _prose(node):
            for name in NAMED.findall(prose):
                if any(part not in known for part in name.strip(".").split(".")):
                    yield name


def identifiers(text: str) -> Iterator[str]:
    """All that the text's code calls something, or says in a string."""
    tree = ast.parse(text)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(value)) if id(node) not in said:
                yield from re.findall(r"\w+", value)


def _prose(node: ast.AST) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(value))):
            return value
    return ""


def types_of(text: str) -> Iterator[str]:
    """Public classes, and names written like classes that are assigned, at a module's top; what stands for any type is
    none."""
    for node in ast.parse(text).body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield name
            case ast.Assign(value=ast.Call(func=ast.Name(id="TypeVar" | "ParamSpec"))):
                continue
            case ast.Assign(targets=[ast.Name(id=name)]) if name[0].isupper() and not name.isupper():
                yield name

"""One name means one thing: no two modules of what is installed define a public name of the same sort."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
FOLDERS = ("app", "agents", "tables", "spark_batch")


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

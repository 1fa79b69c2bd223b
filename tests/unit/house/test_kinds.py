"""Who uses a window, a measure, a derived column or a pairing asks what its contract says, never which kind it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.domain.column import DERIVED
from app.domain.measures.kinds import MEASURES
from app.domain.pairs.alert import Alert
from app.domain.pairs.join import Join
from app.domain.windows.kinds import KINDS
from app.engine.core.kinds.kernels import KERNELS

ROOT = Path(__file__).parents[3]
ASKED: tuple[type, ...] = (*KINDS.values(), *MEASURES.values(), *DERIVED, Join, Alert)
NAMES = frozenset(kind.__name__ for kind in ASKED)
FOLDERS = ("app", "agents", "tables", "spark_batch", "tests", "benchmarks", "scripts")
FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def test_nobody_asks_which_kind_a_thing_is() -> None:
    asked = [f"{path.relative_to(ROOT)}:{at}" for path in FILES for at in questions(path.read_text("utf-8"))]
    assert asked == []


def test_each_kind_of_window_has_a_kernel_a_name_and_a_tag_of_its_own() -> None:
    kinds = set(KINDS.values())
    assert set(KERNELS) == kinds
    assert len({kind.tag for kind in kinds}) == len(kinds)
    assert all(kind.key == key for key, kind in KINDS.items())


def test_only_its_class_its_kernels_their_registries_and_views_name_a_kind_of_window() -> None:
    """What a kind takes: so many files, and no others. The test kit's views are material, as those of rides are."""
    windows = {kind.__name__ for kind in KINDS.values()}
    naming = {
        str(path.relative_to(ROOT))
        for path in FILES
        if not path.is_relative_to(ROOT / "tests") and windows & set(_imported(path))
    }
    kernels = {f"app/engine/core/kinds/{key}.py" for key in KINDS}
    registries = {"app/domain/windows/kinds.py", "app/engine/core/kinds/kernels.py", "spark_batch/folds/windows.py"}
    views = {
        name
        for name in naming
        if name.startswith(("app/rides/", "app/testkit/", "app/definitions/views.py", "benchmarks/"))
    }
    assert naming - kernels - registries - views == set()


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(view.window, Session)",
        "isinstance(window, AllTime | Session)",
        "isinstance(window, (windows.Hopping, int))",
        "issubclass(kind, Calendar)",
        "type(window) is Tumbling",
        "Tumbling == type(window)",
        "isinstance(measure, m.Sum)",
        "match window:\n    case Hopping(size_us=size_us):\n        pass",
    ],
)
def test_a_question_for_a_kind_is_seen(question: str) -> None:
    assert list(questions(question))


@pytest.mark.parametrize(
    "said",
    ["isinstance(window, int)", "window == Tumbling('at', 5)", "Session('at', 5).gap_us"],
)
def test_what_is_no_such_question_is_left_alone(said: str) -> None:
    assert not list(questions(said))


def questions(text: str) -> Iterator[int]:
    """Lines that ask for a kind: isinstance, issubclass, a compared class, a class pattern."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]) if _names_in(asked):
                yield node.lineno
            case ast.Compare(left=left, comparators=others) if any(_is_kind(one) for one in (left, *others)):
                yield node.lineno
            case ast.MatchClass(cls=asked) if _is_kind(asked):
                yield node.lineno


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def _names_in(node: ast.expr) -> bool:
    return any(_is_kind(one) for one in ast.walk(node))


def _is_kind(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in NAMES
    return False

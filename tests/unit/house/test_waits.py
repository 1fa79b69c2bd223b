"""Nobody waits until figures are equal: a doubled one never is, and would be told as something that came too late."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
WAITING = {"wait_for", "seconds_until", "wait"}
WRITTEN = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Attribute)


def test_no_wait_compares_what_was_found_with_what_was_worked_out() -> None:
    """A position or a count is waited for (`>=`), and compared after that."""
    places = [f"{path}:{at}" for path in sorted(TESTS.rglob("*.py")) for at in worked_out(path.read_text("utf-8"))]
    assert places == []


@pytest.mark.parametrize(
    "waiting",
    [
        "wait_for(lambda: told(on) == expected, 'all is told')",
        "wait_for(lambda: covers(on) and told(on) == expected, 'all is told')",
        "wait_for(lambda: len(advances(world)) == places, 'each is raised', [running])",
        "field.wait(lambda: ends(first) == ends(second), 'they are the same')",
        "wait_for(lambda: not count(topic) != count(other), 'none is lost')",
    ],
)
def test_a_wait_for_equal_figures_is_seen(waiting: str) -> None:
    assert list(worked_out(waiting)) == [1]


@pytest.mark.parametrize(
    "waiting",
    [
        "wait_for(lambda: len(advances(world)) >= places, 'each is raised')",
        "wait_for(lambda: tasks_of(one) == [0, 1, 2, 3], 'it has all tasks')",
        "wait_for(lambda: tasks_of(one) == ALL_TASKS == tasks_of(one, POOLED), 'it has all tasks')",
        "wait_for(lambda: one.get('/livez').status_code == codes.OK, 'it answers')",
        "assert told(on) == expected",
    ],
)
def test_a_wait_for_what_is_written_there_is_left_alone(waiting: str) -> None:
    assert not list(worked_out(waiting))


def worked_out(text: str) -> Iterator[int]:
    """Lines in a wait's condition where no side of `==` or `!=` is written out or a constant."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[ast.Lambda(body=body), *_]):
                if name in WAITING:
                    yield from (one.lineno for one in ast.walk(body) if _is_worked_out(one))


def _is_worked_out(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare) or not any(isinstance(one, ast.Eq | ast.NotEq) for one in node.ops):
        return False
    sides = (node.left, *node.comparators)
    return not any(isinstance(one, WRITTEN) or (isinstance(one, ast.Name) and one.id.isupper()) for one in sides)

"""What import-linter cannot say: what is pure imports what is named here alone, and packages import nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PACKAGES = [
    path for name in ("app", "agents", "tables", "spark_batch") for path in CHECKOUT.glob(f"{name}/**/__init__.py")
]

OF_BOTH = {"abc", "bisect", "collections", "dataclasses", "enum", "functools", "itertools", "math", "types", "typing"}
OF_DOMAIN = OF_BOTH | {"array", "ast", "datetime", "difflib", "hashlib", "json", "operator", "re", "zoneinfo"}
"""`datetime` and `zoneinfo`, as which day of a zone an instant is on is told by tables; their clocks are not asked."""
OF_CORE = OF_BOTH | {"contextlib", "heapq", "numpy", "orjson", "polars", "zlib"}
OF_THE_WORLD = {"open", "print", "input", "exec", "eval"}
ASKING = re.compile(r"np\.(random|load|save|memmap|fromfile)|(datetime|date)\.(now|utcnow|today)|pl\.(read|scan)_.*")


@pytest.mark.parametrize(("room", "allowed"), [("domain", OF_DOMAIN), ("engine/core", OF_CORE)])
def test_what_is_pure_imports_what_cannot_ask_the_world(room: str, allowed: set[str]) -> None:
    """No file, socket, clock, log or chance: named is what may be used, as what may not has no end."""
    foreign = {
        f"{path.name}: {name}"
        for path in (CHECKOUT / "app" / room).rglob("*.py")
        for name in _imported(path)
        if name.partition(".")[0] not in {"app", *allowed}
    }
    assert foreign == set()


@pytest.mark.parametrize("room", ["domain", "engine/core"])
def test_what_is_pure_opens_prints_and_draws_nothing(room: str) -> None:
    used = {
        f"{path.name}:{node.lineno}: {ast.unparse(node)}"
        for path in (CHECKOUT / "app" / room).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in OF_THE_WORLD)
        or (isinstance(node, ast.Attribute) and ASKING.fullmatch(ast.unparse(node)))
    }
    assert used == set()


def test_the_domain_knows_no_other_room() -> None:
    others = {
        f"{path.name}: {name}"
        for path in (CHECKOUT / "app" / "domain").rglob("*.py")
        for name in _imported(path)
        if name.startswith("app.") and not name.startswith("app.domain")
    }
    assert others == set()


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_a_package_imports_nothing(path: Path) -> None:
    assert list(_imported(path)) == []


def test_no_test_file_imports_another() -> None:
    """What two tests share stands in tests/support: a test may be renamed, moved or taken out."""
    borrowed = {
        f"{path.relative_to(CHECKOUT)}: {name}"
        for path in (CHECKOUT / "tests").rglob("*.py")
        for name in _imported(path)
        if name.startswith("tests.") and ".test_" in name
    }
    assert borrowed == set()


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)

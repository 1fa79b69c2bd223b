"""What import-linter cannot say: the domain is standard library only, and packages import nothing by themselves."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
PACKAGES = [
    path for name in ("app", "agents", "tables", "spark_batch") for path in CHECKOUT.glob(f"{name}/**/__init__.py")
]


def test_the_domain_imports_the_standard_library_and_itself() -> None:
    foreign = {
        f"{path.name}: {name}"
        for path in (CHECKOUT / "app" / "domain").rglob("*.py")
        for name in _imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("app.domain")
    }
    assert foreign == set()


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

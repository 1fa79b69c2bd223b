"""What grows is split before it is too long to be read at one sitting, or its folder too full to be looked over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
FOLDERS = ("app", "agents", "tables", "spark_batch", "tests", "benchmarks", "scripts")
MOST_LINES = 250
MOST_MODULES = 15
"""Beside `__init__.py`."""


def test_no_module_is_too_long() -> None:
    lines = {str(path.relative_to(CHECKOUT)): len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert lines
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_no_folder_has_too_many_modules() -> None:
    folders = Counter(str(path.parent.relative_to(CHECKOUT)) for path in modules() if path.name != "__init__.py")
    assert folders
    assert {name: count for name, count in folders.items() if count > MOST_MODULES} == {}


def modules() -> Iterator[Path]:
    """All that is Python here, tests among it."""
    for folder in FOLDERS:
        yield from (CHECKOUT / folder).rglob("*.py")

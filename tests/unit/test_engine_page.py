"""The engine's page says where a line belongs: every module stands there, and none that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "engine.md").read_text()


@pytest.mark.parametrize("package", ["core", "drive"])
def test_a_package_of_the_engine_is_listed_module_by_module(package: str) -> None:
    table = PAGE.split(f"| in `{package}/` |")[1].split("\n\n")[0]
    listed = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    modules = [path.stem for path in (ROOT / "app" / "engine" / package).glob("*.py") if path.stem != "__init__"]
    assert sorted(listed) == sorted(modules)

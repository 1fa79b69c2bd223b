"""The engine's page says where a line belongs: every module stands there, and none that is gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "engine.md").read_text()


@pytest.mark.parametrize("package", ["core", "drive"])
def test_a_package_of_the_engine_is_listed_module_by_module(package: str) -> None:
    table = PAGE.split(f"| in `{package}/` |")[1].split("\n\n")[0]
    listed = [name for row in table.splitlines() for name in _modules_of(row.split("|")[1])]
    folder = ROOT / "app" / "engine" / package
    modules = [str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.py")]
    assert sorted(listed) == sorted(module for module in modules if not module.endswith("__init__"))


def _modules_of(cell: str) -> list[str]:
    """Of a cell as "`room/`: `one`, `two`"; without a room they stand in the package itself."""
    room = "".join(re.findall(r"`(\w+/)`", cell))
    return [room + name for name in re.findall(r"`(\w+)`", cell)]

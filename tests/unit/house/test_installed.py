"""What is installed from a wheel is what the checkout has: every package, and every file beside its modules."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path

from setuptools import find_packages

CHECKOUT = Path(__file__).parents[3]
FOLDERS = ("app", "agents", "tables", "spark_batch")
SETUP = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
FILES = [
    path
    for folder in FOLDERS
    for path in (CHECKOUT / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts
]


def test_every_folder_of_modules_is_installed() -> None:
    folders = {str(path.parent.relative_to(CHECKOUT)).replace("/", ".") for path in FILES if path.suffix == ".py"}
    assert set(find_packages(str(CHECKOUT), include=SETUP["packages"]["find"]["include"])) == folders


def test_every_file_beside_modules_is_installed() -> None:
    kinds = SETUP["package-data"]["*"]
    others = [in_package(path) for path in FILES if path.suffix != ".py"]
    assert [name for name in others if not any(fnmatch(name, kind) for kind in kinds)] == []
    assert [kind for kind in kinds if not any(fnmatch(name, kind) for name in others)] == []


def in_package(path: Path) -> str:
    """Where it lies below the nearest package, as setuptools asks for it."""
    package = next(folder for folder in path.parents if (folder / "__init__.py").exists())
    return str(path.relative_to(package))

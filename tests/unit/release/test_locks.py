"""A release lists what the image has: the same Python, and the versions that its lock files give."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from scripts.release.locks import NotAsInTheImage, locked, same_python
from scripts.release.wheels import wheels

HASH = " \\\n    --hash=sha256:00\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One whose image has what is installed here."""
    (tmp_path / "Dockerfile").write_text("ARG BASE=registry.example/python:3.13-slim\nFROM ${BASE}\n")
    (tmp_path / "requirements.bootstrap.lock").write_text(f"uv=={version('uv')}{HASH}")
    _run(tmp_path, f"click=={version('click')}", "orjson==0.0.1 ; python_version < '3'")
    return tmp_path


def test_a_release_is_made_under_the_images_python(checkout: Path) -> None:
    same_python()
    same_python(checkout, "3.13")
    with pytest.raises(NotAsInTheImage, match=r"this is Python 3\.12, the image has 3\.13 .*PYTHON=python3\.13"):
        same_python(checkout, "3.12")


def test_an_image_whose_python_nobody_names_is_refused(checkout: Path) -> None:
    (checkout / "Dockerfile").write_text("FROM scratch\n")
    with pytest.raises(NotAsInTheImage, match="Dockerfile: no line"):
        same_python(checkout)


def test_what_the_images_python_has_is_what_its_lock_files_give(checkout: Path) -> None:
    found = {"uv": version("uv"), "click": version("click")}
    assert locked(checkout) == found
    assert {part.name: part.version for part in wheels(checkout)} == found


def test_a_wheel_of_another_version_than_the_images_is_refused(checkout: Path) -> None:
    _run(checkout, "click==0.0.1", "nobody-has-it==2 ; python_version > '3'")
    with pytest.raises(NotAsInTheImage) as refused:
        wheels(checkout)
    assert str(refused.value).splitlines()[1:] == [
        f"click 0.0.1, here {version('click')}",
        "nobody-has-it 2, here none",
    ]


def test_libraries_that_lie_beside_a_wheels_packages_are_named() -> None:
    bundled = {part.name: part.bundled for part in wheels()}
    assert any(name.startswith("libgfortran") for name in bundled["numpy"])
    assert any(name.startswith("libpq") for name in bundled["psycopg-binary"])
    assert bundled["pandas"] == bundled["click"] == ()


def _run(checkout: Path, *lines: str) -> None:
    (checkout / "requirements.run.lock").write_text("".join(f"{line}{HASH}" for line in lines))

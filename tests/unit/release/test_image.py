"""The image of a release, by engines that are programs of these tests: what they are told, and what they fail at."""

from __future__ import annotations

import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts.release import image

COMMIT = SimpleNamespace(version="1.2.3", id="abc")
SAYS_NOTHING = "exit 1"
BUILDS = 'test "$1" = info || { echo "$@" > "$0.told"; for last; do :; done; ls "$last" >> "$0.told"; }'
GIVES_UP = 'test "$1" = info || { echo "no space" >&2; exit 125; }'


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of programs that are there, beside a shell's own."""
    (folder := tmp_path / "engines").mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(image, "ENGINES", {name: (name, "build") for name in ("first", "second")})
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "Dockerfile").write_text("ARG BASE=python:3.11-slim\nFROM ${BASE}\n")
    with tarfile.open(tmp_path / "source.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "Dockerfile", "flagfall-1.2.3/Dockerfile")
    return tmp_path / "source.tar.gz"


def test_an_engine_that_does_not_answer_is_none(engines: Path) -> None:
    assert image.engine() is None
    _program(engines / "first", SAYS_NOTHING)
    assert image.engine() is None
    _program(engines / "second", BUILDS)
    assert image.engine() == "second"


def test_it_is_built_of_the_archive_alone_on_the_base_that_is_named(engines: Path, source: Path) -> None:
    _program(engines / "first", BUILDS)
    assert image.build("first", COMMIT, source, "localhost/python:3.11") == "flagfall:1.2.3"
    told, *inside = (engines / "first.told").read_text().splitlines()
    assert {"--build-arg=BASE=localhost/python:3.11", "--build-arg=PYTHON=3.11"} <= set(told.split())
    assert "--label=org.opencontainers.image.revision=abc" in told
    assert inside == ["Dockerfile"]


def test_an_engine_that_gives_up_is_told_in_words(engines: Path, source: Path) -> None:
    _program(engines / "first", GIVES_UP)
    with pytest.raises(image.ImageNotBuilt, match="first built no image: it ended with 125") as told:
        image.build("first", COMMIT, source, None)
    assert "ARGS=--no-image" in str(told.value)
    assert 'ARGS="--base ' in str(told.value)


def _program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)

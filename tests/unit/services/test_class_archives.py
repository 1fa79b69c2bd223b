"""What stands in the cache for a class path, and what takes its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.base.services.class_archives import ClassArchive
from app.base.services.java import Java


@pytest.fixture
def archive(tmp_path: Path) -> ClassArchive:
    home = tmp_path / "java"
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text('JAVA_VERSION="17.0.15"')
    return ClassArchive("kafka", Java(home / "bin" / "java", 17, "JAVA_HOME"), "one.jar:two.jar", tmp_path / "cache")


def written_by(archive: ClassArchive, ended: Callable[[], object] = lambda: None) -> None:
    with archive.made() as option:
        Path(option.removeprefix("-XX:ArchiveClassesAtExit=")).write_bytes(b"classes")
        ended()


def test_java_is_given_an_archive_once_one_was_made(archive: ClassArchive) -> None:
    assert archive.options() == ()
    written_by(archive)
    assert archive.options() == (f"-XX:SharedArchiveFile={archive.path}",)
    assert [*archive.folder.iterdir()] == [archive.path]


def test_a_java_that_writes_none_leaves_none(archive: ClassArchive) -> None:
    with archive.made():
        pass
    assert archive.options() == ()
    assert [*archive.folder.iterdir()] == []


def test_an_archive_that_was_not_finished_is_not_taken(archive: ClassArchive) -> None:
    with pytest.raises(ZeroDivisionError):
        written_by(archive, ended=lambda: 1 // 0)
    assert [*archive.folder.iterdir()] == []


def test_the_newest_of_a_program_stays_and_those_of_others_do(archive: ClassArchive) -> None:
    other, newer = replace(archive, name="registry"), replace(archive, class_path="three.jar")
    for one in (archive, other, newer):
        written_by(one)
    assert {*archive.folder.iterdir()} == {other.path, newer.path}


def test_another_release_of_java_in_the_same_place_has_another_archive(archive: ClassArchive) -> None:
    before = archive.path
    (archive.java.home / "release").write_text('JAVA_VERSION="17.0.16"')
    assert archive.path != before

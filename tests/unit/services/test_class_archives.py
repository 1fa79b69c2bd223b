"""What stands in the cache for a class path, and what takes its place."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.base.services.class_archives import KEPT, ClassArchive
from app.base.services.java import Java

MAKER = """
import sys
from pathlib import Path
from app.base.services.class_archives import ClassArchive
from app.base.services.java import Java
java = Java(Path(sys.argv[1]), 17, "JAVA_HOME")
with ClassArchive("kafka", java, "one.jar", Path(sys.argv[2])).made():
    print("it is being made", flush=True)
    sys.stdin.read()
"""


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
    assert lying(archive) == {archive.path}


def test_a_java_that_writes_none_leaves_none(archive: ClassArchive) -> None:
    with archive.made():
        pass
    assert archive.options() == ()
    assert lying(archive) == set()


def test_an_archive_that_was_not_finished_is_not_taken(archive: ClassArchive) -> None:
    with pytest.raises(ZeroDivisionError):
        written_by(archive, ended=lambda: 1 // 0)
    assert lying(archive) == set()


def test_what_a_killed_maker_has_left_goes_with_the_next_and_not_while_it_makes(archive: ClassArchive) -> None:
    command = [sys.executable, "-c", MAKER, archive.java.executable, archive.cache_dir]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as maker:
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"it is being made\n"
        (its,) = lying(archive)
        written_by(archive)
        assert lying(archive) == {archive.path, its}
        maker.kill()
    written_by(archive)
    assert lying(archive) == {archive.path}


def test_the_newest_of_a_program_stay_and_those_of_others_do(archive: ClassArchive) -> None:
    """Two checkouts that share the cache, each with PySpark's jars in its own place, leave each other's alone."""
    other, *newer = replace(archive, name="registry"), *(replace(archive, class_path=f"{n}.jar") for n in range(KEPT))
    for age, one in enumerate((archive, other, *newer), start=-KEPT):
        written_by(one)
        os.utime(one.path, (age, age))
    written_by(newer[-1])
    assert lying(archive) == {other.path, *(one.path for one in newer)}


def test_another_release_of_java_in_the_same_place_has_another_archive(archive: ClassArchive) -> None:
    before = archive.path
    (archive.java.home / "release").write_text('JAVA_VERSION="17.0.16"')
    assert archive.path != before


def lying(archive: ClassArchive) -> set[Path]:
    """In the folder of archives, for users to see."""
    return {path for path in archive.folder.iterdir() if not path.name.startswith(".")}

"""A working directory ends with its owner, or when the next one comes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.base.files.working_directory import working_directory

OWN = """
import sys
from pathlib import Path
from app.base.files.working_directory import working_directory
with working_directory(Path(sys.argv[1])) as path:
    (path / "copies").mkdir()
    (path / "copies" / "rows").touch()
    print(path, flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_owner(parent: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    command = [sys.executable, "-c", OWN, str(parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())


def test_it_is_empty_but_for_its_owner_and_gone_at_the_end(tmp_path: Path) -> None:
    with working_directory(tmp_path / "work") as path:
        assert [file.name for file in path.iterdir()] == ["owner.json"]
        (path / "copies").mkdir()
    assert not path.exists()


def test_what_a_killed_owner_left_goes_with_the_next_and_what_others_use_stays(tmp_path: Path) -> None:
    (tmp_path / "report.json").touch()
    with another_owner(tmp_path) as (alive, of_alive), another_owner(tmp_path) as (killed, of_killed):
        killed.kill()
        killed.wait()
        assert (of_killed / "copies" / "rows").exists()
        with working_directory(tmp_path):
            assert not of_killed.exists()
            assert (of_alive / "copies" / "rows").exists()
            assert (tmp_path / "report.json").exists()
        alive.communicate("")
        assert not of_alive.exists()


def test_one_that_was_killed_before_it_named_itself_is_abandoned(tmp_path: Path) -> None:
    (tmp_path / "run-unnamed").mkdir()
    with working_directory(tmp_path) as path:
        assert list(tmp_path.glob("run-*")) == [path]

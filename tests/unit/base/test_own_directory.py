"""What deletes a directory deletes its own: new or empty at first, marked ever after."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.base.files.own_directory import NotOurDirectory
from app.edge.cli import main
from app.edge.cli.demo.place import MARK, own_place
from benchmarks.stream.data_sets import DATA_SETS
from benchmarks.stream.place import Cores, opened


@pytest.fixture
def somebodys(tmp_path: Path) -> Path:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    return tmp_path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_demo_in_a_directory_with_files_of_others_is_wrong_usage_and_touches_nothing(
    somebodys: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["demo", "--rides", "1", "--data-dir", str(somebodys)]) == 2
    assert (somebodys / "thesis" / "chapter").read_text() == "years of work"
    assert names(somebodys) == ["thesis"]
    told = capsys.readouterr().err
    assert "--data-dir" in told
    assert f"has no {MARK} in it" in told


@pytest.mark.parametrize("folder", [".", "new", "new/below"])
def test_a_new_or_empty_directory_is_the_demos_from_then_on(tmp_path: Path, folder: str) -> None:
    place, elsewhere = tmp_path / folder, tmp_path.parent / "kept"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "file").touch()
    with own_place(place):
        (place / "kafka").mkdir()
        (place / "kafka" / "log").touch()
        (place / "report").touch()
        (place / "link").symlink_to(elsewhere)
    with own_place(place):
        assert names(place) == [MARK]
        assert (elsewhere / "file").exists()


def test_a_bench_deletes_no_directory_but_its_own(somebodys: Path) -> None:
    (somebodys / "runs").mkdir()
    with pytest.raises(NotOurDirectory), opened(somebodys, DATA_SETS["sparse"], 1, Cores(0, 0), print):
        pass
    assert names(somebodys) == ["runs", "thesis"]

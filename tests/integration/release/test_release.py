"""A release of this very commit: made twice, the same bytes; every part named, with a licence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path

import pytest
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from app.base.settings import Settings
from scripts.release.__main__ import licensed, write
from scripts.release.archives import CHECKOUT, RUN_LOCK, Commit, NoCommit, NotClean
from scripts.release.jars import jars
from scripts.release.licences import SPDX, refused
from scripts.release.page import page
from scripts.release.part import Part, Reach
from scripts.release.sbom import sbom
from scripts.release.wheels import wheels


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed, and nothing else."""
    path = tmp_path_factory.mktemp("release") / "checkout"
    subprocess.run(["git", "clone", "--quiet", "--local", str(CHECKOUT), str(path)], check=True)
    return path


@pytest.fixture(scope="module")
def parts() -> list[tuple[Part, str]]:
    return licensed([*wheels(), *jars(Settings.load())])


@pytest.fixture
def user_mask() -> Iterator[None]:
    """Whatever a test sets is as it was, afterwards."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("user_mask")
def test_the_same_commit_gives_the_same_archives_whoever_makes_them(clone: Path, tmp_path: Path) -> None:
    made = []
    for umask in (0o022, 0o077):
        os.umask(umask)
        (folder := tmp_path / f"{umask:o}").mkdir()
        source = Commit(clone).write_source(folder)
        made.append((source, Commit(clone).write_wheel(folder, source)))
    for first, second in zip(*made, strict=True):
        assert (first.name, first.read_bytes()) == (second.name, second.read_bytes())


def test_the_archives_hold_what_is_committed_and_what_runs(clone: Path, tmp_path: Path) -> None:
    source = Commit(clone).write_source(tmp_path)
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    committed = subprocess.run(["git", "ls-files"], cwd=clone, check=True, capture_output=True, text=True).stdout
    assert set(committed.split("\n")) - {""} <= inside
    with zipfile.ZipFile(Commit(clone).write_wheel(tmp_path, source)) as wheel:
        names = set(wheel.namelist())
    assert {"app/edge/cli/main.py", "spark_batch/reconcile.py", "app/base/services/jars.sha256"} <= names
    (info,) = {name.partition("/")[0] for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert {name.partition("/")[0] for name in names} - {info} == {"app", "agents", "tables", "spark_batch"}


def test_the_lock_beside_the_wheel_pins_all_that_the_wheel_asks_for(clone: Path, tmp_path: Path) -> None:
    commit = Commit(clone)
    lines = commit.write_lock(tmp_path).read_text().splitlines()
    pins = [Requirement(line.rstrip(" \\")) for line in lines if line[0].isalnum()]
    pinned = {one.name: one.specifier for one in pins}
    with zipfile.ZipFile(commit.write_wheel(tmp_path, commit.write_source(tmp_path))) as wheel:
        (told,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        asked = Parser().parsestr(wheel.read(told).decode()).get_all("Requires-Dist", [])
    needed = [one for one in map(Requirement, asked) if one.marker is None or one.marker.evaluate({"extra": ""})]
    assert len(needed) > 10
    for one in needed:
        (pin,) = pinned[canonicalize_name(one.name)]
        assert one.specifier.contains(pin.version), f"{one} is pinned to {pin}"


def test_what_is_not_committed_is_no_release(clone: Path) -> None:
    (clone / "left-over.py").touch()
    with pytest.raises(NotClean, match=r"left-over\.py"):
        Commit(clone)
    (clone / "left-over.py").unlink()


def test_a_folder_that_is_no_checkout_is_no_release(clone: Path, tmp_path: Path) -> None:
    with tarfile.open(Commit(clone).write_source(tmp_path)) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    done = release(unpacked, tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert f"{unpacked} is no checkout of git" in done.stderr
    subprocess.run(["git", "clone", "--quiet", "--local", str(clone), str(tmp_path / "other")], check=True)
    with pytest.raises(NoCommit, match=r"other is one\)"):
        Commit(unpacked.rename(tmp_path / "other" / "unpacked"))


def test_every_part_has_a_licence_that_lets_it_come_as_it_does(parts: list[tuple[Part, str]]) -> None:
    assert refused(parts) == []
    shipped = {part.name for part, _ in parts if part.reach is Reach.SHIPPED}
    assert {"pyspark", "delta-spark_2.13", "hadoop-client-api"} <= shipped
    assert {"kafka-server", "debezium-connector-jdbc"} <= {part.name for part, _ in parts} - shipped
    assert page(parts).count("\n| ") >= len({(part.name, part.version) for part, _ in parts})
    assert "| psycopg-binary | libcom_err" in page(parts)


def test_the_list_of_parts_is_one_that_other_programs_read(clone: Path, parts: list[tuple[Part, str]]) -> None:
    told = sbom(Commit(clone), parts)
    assert told == sbom(Commit(clone), parts)
    assert make_schemabased_validator(OutputFormat.JSON, SchemaVersion.V1_6).validate_str(told) is None
    assert '"psycopg"' in told
    components, own = json.loads(told)["components"], re.compile(r"LicenseRef-[\w.-]+")
    for (one,) in (part["licenses"] for part in components):
        assert [*one] == ["expression"] or [*one["license"]] == ["id"], one
        assert SPDX.validate(own.sub("MIT", one.get("expression", "MIT"))).errors == []
    licences = {part["name"]: part["licenses"] for part in components}
    assert licences["jakarta.ws.rs-api"] == [{"expression": "EPL-2.0 OR GPL-2.0-only WITH Classpath-exception-2.0"}]
    assert '"pkg:maven/io.delta/delta-spark_2.13@' in told


def test_the_command_makes_it_all_or_says_why_not(clone: Path, tmp_path: Path) -> None:
    done = release(clone, tmp_path)
    assert done.returncode == 0, done.stderr
    (made,) = tmp_path.iterdir()
    sums = subprocess.run(["sha256sum", "--check", "SHA256SUMS"], cwd=made, capture_output=True, text=True, check=False)
    assert sums.returncode == 0, sums.stdout
    assert len(sums.stdout.splitlines()) == 5
    assert (made / RUN_LOCK).read_bytes() == (clone / RUN_LOCK).read_bytes()
    assert "replaces" not in done.stdout


def test_a_release_of_another_commit_is_replaced_in_words(
    clone: Path, tmp_path: Path, parts: list[tuple[Part, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    later, made = tmp_path / "later", tmp_path / "made"
    subprocess.run(["git", "clone", "--quiet", "--local", str(clone), str(later)], check=True)
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost"]
    subprocess.run(["git", *identity, "commit", "--quiet", "--allow-empty", "-m", "later"], cwd=later, check=True)
    said = []
    for commit in (earlier := Commit(clone), Commit(clone), Commit(later)):
        write(made, commit, parts[:1])
        said.append(capsys.readouterr().out)
    assert [f"replaces what was made of commit {earlier.id}" in one for one in said] == [False, False, True]
    assert Commit(later).id in said[-1].splitlines()[-1]


def test_a_folder_that_cannot_be_is_told_in_words(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = release(clone, tmp_path / "file" / "below")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert done.stderr.startswith("the release cannot be written: [Errno 20] Not a directory")


def release(checkout: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command, as it stands in a checkout."""
    command = [sys.executable, "-m", "scripts.release", "--folder", str(folder), "--no-image"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)

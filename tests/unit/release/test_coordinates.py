"""What Maven calls a jar, where the jar or our own list says so, and nothing that is only likely."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from app.base.services.jars import pins
from scripts.release.coordinates import purl
from scripts.release.jars import add
from scripts.release.page import page
from scripts.release.part import Part, Reach

GSON = ("com.google.code.gson", "gson", "2.11.0")
NETTY = ("io.netty", "netty-tcnative", "2.0.Final")


@pytest.mark.parametrize(
    ("name", "said", "expected"),
    [
        ("gson-2.11.0", [GSON], "pkg:maven/com.google.code.gson/gson@2.11.0"),
        ("com.google.code.gson.gson-2.11.0", [GSON], "pkg:maven/com.google.code.gson/gson@2.11.0"),
        ("gson-2.11.0", [NETTY, GSON], "pkg:maven/com.google.code.gson/gson@2.11.0"),
        ("netty-tcnative-2.0.Final-osx", [NETTY], "pkg:maven/io.netty/netty-tcnative@2.0.Final?classifier=osx"),
        ("modified-com.google.code.gson.gson-2.11.0", [GSON], None),
        ("gson-2.11.1", [GSON], None),
        ("gson-2.11.0", [], None),
    ],
)
def test_a_jar_is_called_as_it_says_itself_if_its_file_is_called_so(
    name: str, said: list[tuple[str, str, str]], expected: str | None, tmp_path: Path
) -> None:
    stem, _, number = name.partition("-2.")
    generic = f"pkg:generic/{stem}@2.{number}?checksum=sha256:00"
    assert purl(_jar(tmp_path / f"{name}.jar", *said), "00") == (expected or generic)


def test_a_jar_that_says_nothing_is_called_as_our_list_calls_these_bytes(tmp_path: Path) -> None:
    pin = next(pin for pin in pins("spark") if pin.coordinate.startswith("io.delta:delta-spark_2.13:"))
    version = pin.coordinate.split(":")[2]
    assert purl(_jar(tmp_path / "any.jar"), pin.sha256) == f"pkg:maven/io.delta/delta-spark_2.13@{version}"


def test_other_bytes_under_the_same_coordinates_are_a_part_of_their_own(tmp_path: Path) -> None:
    found = dict[str, Part]()
    for folder, others in (("one", []), ("two", []), ("repacked", [NETTY])):
        (tmp_path / folder).mkdir()
        add(found, _jar(tmp_path / folder / "gson-2.11.0.jar", GSON, *others), Reach.FETCHED)
    first, second = found
    assert first == "pkg:maven/com.google.code.gson/gson@2.11.0"
    assert second.startswith("pkg:generic/gson@2.11.0?checksum=sha256:")
    assert "Of 2 jars 1 do not say what Maven calls them" in page((part, "Apache-2.0") for part in found.values())


def _jar(path: Path, *said: tuple[str, str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\n")
        for group, artifact, version in said:
            told = f"#made by hand\nversion={version}\ngroupId = {group}\nartifactId={artifact}\n"
            archive.writestr(zipfile.ZipInfo(f"META-INF/maven/{group}/{artifact}/pom.properties"), told)
    return path

"""What a jar is called: as Maven has it, where the jar itself or our list of jars says so."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from packageurl import PackageURL

from app.base.services.jars import CONNECT_SETS, SETS, pins

PROPERTIES = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties$")
PROPERTY = re.compile(r"^(groupId|artifactId|version)\s*[=:]\s*(\S+)\s*$", re.MULTILINE)
NAMED = re.compile(r"(?P<name>.+?)-(?P<version>\d[\w.+-]*)$")


def name_of(path: Path) -> tuple[str, str]:
    """Name and version, as the file is called."""
    split = NAMED.match(path.stem)
    return (split["name"], split["version"]) if split else (path.stem, "")


def purl(path: Path, sha256: str) -> str:
    """`pkg:maven/…`; `pkg:generic/…` with the sum, where nothing says more than the file's name."""
    said = _pinned().get(sha256) or _said_in(path)
    if said is None:
        return generic(path, sha256)
    group, artifact, version, classifier = said
    return PackageURL("maven", group, artifact, version, {"classifier": classifier} if classifier else None).to_string()


def generic(path: Path, sha256: str) -> str:
    """By the file's name and bytes alone."""
    name, version = name_of(path)
    return f"pkg:generic/{name}@{version}?checksum=sha256:{sha256}"


@cache
def _pinned() -> dict[str, tuple[str, str, str, str]]:
    """Group, artifact, version and classifier by sum."""
    found = {}
    for pin in (pin for name in (*SETS, *CONNECT_SETS) for pin in pins(name)):
        group, artifact, version, *rest = pin.coordinate.split(":")
        found[pin.sha256] = (group, artifact, version, rest[1] if rest else "")
    return found


def _said_in(path: Path) -> tuple[str, str, str, str] | None:
    """A jar may hold descriptions of what it took in, and be changed by who repacked it: its file's name decides."""
    said = [
        (group, artifact, version, path.stem.removeprefix(stem).removeprefix("-"))
        for group, artifact, version in _descriptions(path)
        for stem in (f"{artifact}-{version}", f"{group}.{artifact}-{version}")
        if path.stem == stem or path.stem.startswith(f"{stem}-")
    ]
    return min(said, key=lambda one: len(one[3]), default=None)


def _descriptions(path: Path) -> Iterator[tuple[str, str, str]]:
    with zipfile.ZipFile(path) as archive:
        for name in filter(PROPERTIES.match, archive.namelist()):
            told = dict(PROPERTY.findall(archive.read(name).decode(errors="replace")))
            if len(told) == len(("groupId", "artifactId", "version")):
                yield told["groupId"], told["artifactId"], told["version"]

"""A release of what is committed, in one folder. Nothing is published.

    python -m scripts.release                             into build/release/<version>
    python -m scripts.release --no-image
    python -m scripts.release --base registry.example/python:3.11-slim-bookworm

Source archive and wheel are the same bytes for the same commit. `licences.md` and the CycloneDX list name every wheel
and jar of what runs, and none that only tests and benchmarks have; a licence that nobody has looked up, or that forbids
the way a part comes by, ends it; so does a Python, or a wheel, that is not the image's. The image is built by docker,
podman or buildah, where one of them answers; if none does, that is told, and the rest is made.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

from app.base.services.errors import JarError
from app.base.settings import Settings
from scripts.release import image
from scripts.release.archives import CHECKOUT, Commit, NoCommit, NotClean
from scripts.release.jars import jars
from scripts.release.licences import LicenceUnknown, licence, refused
from scripts.release.locks import NotAsInTheImage, same_python
from scripts.release.page import page
from scripts.release.part import Part
from scripts.release.sbom import commit_of, sbom
from scripts.release.wheels import wheels

SUMS = "SHA256SUMS"


def main(folder: Path, *, with_image: bool, base: str | None) -> int:
    """0, or 1 where something forbids the release, which is told."""
    try:
        same_python()
        commit = Commit()
        parts = licensed([*wheels(), *jars(Settings.load())])
    except (NoCommit, NotClean, NotAsInTheImage, JarError, LicenceUnknown) as error:
        return tell(str(error))
    if against := refused(parts):
        return tell("not compatible with Apache-2.0 the way they come by:", *against)
    try:
        source = write(folder / commit.version, commit, parts)
    except OSError as error:
        return tell(f"the release cannot be written: {error}; name another place by --folder")
    try:
        print(image_of(commit, source, base) if with_image else "no image, as asked")
    except image.ImageNotBuilt as error:
        return tell(f"{error}; the rest is made")
    return 0


def write(made: Path, commit: Commit, parts: list[tuple[Part, str]]) -> Path:
    """All but the image; the source archive's path. What an earlier commit left there is told, and replaced."""
    made.mkdir(parents=True, exist_ok=True)
    listed = made / f"flagfall-{commit.version}.cdx.json"
    if (earlier := commit_of(listed)) not in (None, commit.id):
        print(f"{made}: replaces what was made of commit {earlier}")
    source = commit.write_source(made)
    written = [source, commit.write_wheel(made, source), commit.write_lock(made)]
    for path, text in ((listed, sbom(commit, parts)), (made / "licences.md", page(parts))):
        path.write_text(text)
        written.append(path)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in written)
    (made / SUMS).write_text(sums)
    print(f"{made}: {', '.join(path.name for path in written)}, {SUMS}; of commit {commit.id}")
    return source


def licensed(parts: Iterable[Part]) -> list[tuple[Part, str]]:
    """With the licence of each; LicenceUnknown names all that lack one."""
    found, unknown = list[tuple[Part, str]](), list[str]()
    for part in parts:
        try:
            found.append((part, licence(part)))
        except LicenceUnknown as error:
            unknown.append(str(error))
    if unknown:
        raise LicenceUnknown(
            "\n".join(["no line of scripts/release/licences.toml knows what these are under:", *unknown])
        )
    return found


def image_of(commit: Commit, source: Path, base: str | None) -> str:
    """What became of it, in words."""
    found = image.engine()
    if found is None:
        return f"no image: none of {', '.join(image.ENGINES)} answers here"
    return f"image {image.build(found, commit, source, base)}, by {found}"


def tell(*lines: str) -> int:
    """On standard error."""
    print(*lines, sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=CHECKOUT / "build" / "release")
    parser.add_argument("--no-image", action="store_false", dest="with_image")
    parser.add_argument("--base", help="The image that the Dockerfile begins with, instead of its own.")
    arguments = parser.parse_args()
    sys.exit(main(arguments.folder, with_image=arguments.with_image, base=arguments.base))

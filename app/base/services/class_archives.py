"""Java's classes, read and verified once: programs that begin with such an archive begin in little over half the time.

Java maps the file into memory (JEP 350) and looks at its own version, the class path, and each jar's size and time
first; what does not fit it leaves alone. An archive is made by a process as it ends, which takes it some seconds.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from app.base.services.java import Java

KEY_DIGITS = 16


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

        Takes the place of this name's archives for other class paths. A Java that cannot archive leaves none.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            written = Path(folder, "classes.jsa")
            yield f"-XX:ArchiveClassesAtExit={written}"
            if not written.exists():
                return
            for old in self.folder.glob(f"{self.name}-{'?' * KEY_DIGITS}.jsa"):
                with suppress(FileNotFoundError):
                    old.unlink()
            written.replace(self.path)

"""What stops the reading of a whole file. A single unreadable row never does."""

from __future__ import annotations

from pathlib import Path


class TlcFileError(ValueError):
    """The file as a whole cannot be read as TLC trip records; says why, and what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path

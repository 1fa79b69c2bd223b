"""What stops the reading of a whole file. A single unreadable row never does."""

from __future__ import annotations

from pathlib import Path

from app.domain.errors import FlagfallError


class TlcFileError(ValueError):
    """The file as a whole cannot be read as TLC trip records; says why, and what to do."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path


class NoRoom(FlagfallError):
    """The disk takes no more of the rides that wait on it. Make room, or choose another disk."""

    def __init__(self, file: Path, error: OSError) -> None:
        super().__init__(
            f"{file.parent} takes no more rides ({error}); make room (100 to 200 bytes a ride, for the time of the "
            "replay), or set FLAGFALL_DATA_DIR to a directory on a larger disk"
        )

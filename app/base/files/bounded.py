"""Files that people name: read so far as such a file can be long, as what is named may have no end."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from app.domain.errors import FlagfallError

SMALL_BYTES = 4 << 20
"""Beyond any file that is written by hand."""
LARGE_BYTES = 1 << 30
"""Beyond any that records are mended in, and less than a machine's memory."""


class FileTooLong(FlagfallError):
    """The file is none of the kind that was asked for: name another."""


def read_bounded(file: Path | BinaryIO, most_bytes: int = SMALL_BYTES) -> str:
    """The file's text. FileTooLong beyond so many bytes, UnicodeDecodeError if it is no UTF-8, OSError."""
    if isinstance(file, Path):
        with file.open("rb") as opened:
            return read_bounded(opened, most_bytes)
    read = file.read(most_bytes + 1)
    if len(read) > most_bytes:
        raise FileTooLong(f"{file.name} has more than {most_bytes >> 20} MiB: is it the file that was meant?")
    return read.decode("utf-8-sig")

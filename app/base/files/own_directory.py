"""Directories that are emptied: only those that were new or empty when they were first used, and say so ever after."""

from __future__ import annotations

import shutil
from pathlib import Path

from app.domain.errors import FlagfallError


class NotOurDirectory(FlagfallError):
    """The directory holds somebody's files. Name another, or delete what is in it."""


def claim(directory: Path, mark: str) -> Path:
    """The mark's file in the directory, which is made if need be: what is beside it may be deleted.

    Raises NotOurDirectory for a directory that holds anything and no such mark; nothing in it is touched.
    """
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / mark
    if not file.is_file() and any(directory.iterdir()):
        raise NotOurDirectory(
            f"{directory} is not empty and would be emptied, but has no {mark} in it, so its files may be somebody's; "
            "name a new or an empty directory, or delete what is in it"
        )
    file.touch()
    return file


def empty(directory: Path, mark: str) -> None:
    """Delete all that is in a claimed directory but the mark. Raises NotOurDirectory."""
    kept = claim(directory, mark)
    for path in directory.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path != kept:
            path.unlink()
